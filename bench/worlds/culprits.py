"""Whom a fault or a habit is about: the entity, its ranks, and who stands in which relation to it.

An entity is drawn by one of the words of `chosen`; rows of tables select ranks by those of
`selected`.
"""

from dataclasses import dataclass

import numpy as np

from .situation import CaseSituation


@dataclass(frozen=True, slots=True)
class CulpritEntity:
    """An entity with its ranks, one of which represents it; `also`: other right entities."""

    type: str
    id: str
    rank: int
    ranks: tuple[int, ...]
    some: tuple[int, ...]
    """All ranks of a few replicas, which share the batch."""
    host: str | None = None
    also: tuple[tuple[str, str], ...] = ()


def chosen(case: CaseSituation, who: str, rng: np.random.Generator) -> CulpritEntity:
    """Draw an entity: a word for its kind, or for the one that is meant."""
    layout, everybody = case.layout, case.everybody
    drawn = rng.choice(everybody, max(2, len(everybody) // 4), False).tolist()
    batches = {layout.ranks[one].dp for one in drawn}
    some = tuple(one.rank for one in layout.ranks if one.dp in batches)
    rank = int(rng.integers(case.plan.world))
    if who == "rank0":
        rank = 0
    elif who == "first_gpu":
        rank -= layout.ranks[rank].local
    elif who == "stage":
        rank = everybody[-1]
    place, host, local = layout.ranks[rank], layout.host_of(rank), case.on_host_of(rank)
    of_rank, also = ("rank", str(rank)), tuple[tuple[str, str], ...]()
    match who:
        case "rank" | "rank0":
            also = (("gpu", place.gpu),)
            return CulpritEntity(*of_rank, rank, (rank,), some, host, also)
        case "gpu" | "first_gpu":
            return CulpritEntity("gpu", place.gpu, rank, (rank,), some, host)
        case "host":
            return CulpritEntity("host", host, rank, local, some, host)
        case "trainer" | "dataloader":
            pid = place.pid + (100_000 if who == "dataloader" else 0)
            return CulpritEntity("process", f"{host}:{pid}", rank, (rank,), some, host)
        case "nic":
            ranks = tuple(one for one in local if layout.nic_of(one) == layout.nic_of(rank))
            name = f"{host}/{layout.nic_of(rank)}:1"
            return CulpritEntity("nic", name, rank, ranks, some, host)
        case "switch":
            switch = layout.hosts[place.host].switch
            ranks = tuple(
                one.rank for one in layout.ranks if layout.hosts[one.host].switch == switch
            )
            return CulpritEntity("switch", switch, rank, ranks, some)
        case "stage" | "experts":
            group = layout.of_group("ep" if who == "experts" else "dp", rank)
            ranks = _expert(case, rank) if who == "experts" else _stage(case)
            if who == "experts":
                also = tuple(("rank", str(one)) for one in ranks)
                also += tuple(("group", layout.of_group("ep", one).name) for one in ranks)
            else:
                inside = [one for one in layout.groups if {*one.ranks} <= {*ranks}]
                also = tuple(("group", one.name) for one in inside)
            return CulpritEntity("group", group.name, rank, ranks, some, None, also)
        case "replica":
            ranks = tuple(one.rank for one in layout.ranks if one.dp == place.dp)
            also = tuple(("rank", str(one)) for one in ranks)
            return CulpritEntity(*of_rank, rank, ranks, some, host, also)
        case "storage":
            return CulpritEntity("storage", "/scratch", rank, everybody, some)
        case _:
            return CulpritEntity(who, layout.job, rank, everybody, some)


def selected(case: CaseSituation, culprit: CulpritEntity, word: str) -> tuple[int, ...]:
    """Return the ranks that a word of a row means; raises ValueError for another word."""
    match word:
        case "all":
            return case.everybody
        case "rank":
            return (culprit.rank,)
        case "ranks":
            return culprit.ranks
        case "some":
            return culprit.some
        case "host":
            return case.on_host_of(culprit.rank)
        case "peers":
            return tuple(one for one in case.on_host_of(culprit.rank) if one != culprit.rank)
        case "others":
            return tuple(one for one in case.everybody if one not in culprit.ranks)
        case "beside":
            held = (one.ranks for one in case.layout.groups if one.kind == "ep")
            groups = [ranks for ranks in held if {*ranks} & {*culprit.ranks}]
            return tuple(sorted({one for ranks in groups for one in ranks} - {*culprit.ranks}))
        case "another":
            return selected(case, culprit, "others")[:1]
        case "firsts":
            return tuple(one.rank for one in case.layout.ranks if not one.local)
        case _:
            raise ValueError(f"{word}: no word for ranks")


def _expert(case: CaseSituation, rank: int) -> tuple[int, ...]:
    """Return the ranks that hold the same experts of a stage: one position of its expert groups.

    A group exchanges the tokens of its own members alone, so that a popular expert loads its holder
    in each group, and not the others beside it.
    """
    held = case.layout.of_group("ep", rank)
    groups = [one for one in case.layout.groups if one.kind == "ep"]
    stage = case.layout.ranks[rank].pp
    place = held.ranks.index(rank)
    return tuple(
        sorted(
            one.ranks[place]
            for one in groups
            if place < len(one.ranks) and case.layout.ranks[one.ranks[0]].pp == stage
        )
    )


def _stage(case: CaseSituation) -> tuple[int, ...]:
    last = case.layout.stages - 1
    return tuple(one.rank for one in case.layout.ranks if one.pp == last)
