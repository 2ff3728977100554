"""Who is in groups that a dump does not describe, and how the places of their entries lie.

torch over gloo has one nameless group in `pg_config`, with no members once a second group was made.
Which ranks are in a group then follows from whose entries name it: torch gives groups of gloo the
same name on every rank.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from ...vocabulary.groups import ProcessGroup
from . import numbering
from .dumps import RecorderDump, RecorderEntry

_WORLD = "default_pg"


def settled(
    dumps: Mapping[int, RecorderDump], world_size: int | None = None
) -> dict[int, RecorderDump]:
    """Return the dumps of a job by rank, with the members of each group as far as all tell them.

    `world_size` is that of the job where it is known; without it all ranks that any dump names are
    the job. Groups of which nobody knows the members are left out.
    """
    found = {rank: _placed(dump, _members(dumps, world_size)) for rank, dump in dumps.items()}
    return _aligned(found)


def _members(
    dumps: Mapping[int, RecorderDump], world_size: int | None
) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return by (name, description) who is in the groups that dumps do not describe."""
    named = {rank for dump in dumps.values() for group in dump.groups for rank in group.ranks}
    size = world_size or max(named | set(dumps), default=-1) + 1
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for rank, dump in dumps.items():
        for name in dump.nameless.values():
            found[name].add(rank)
    whole = world_size is None or len(dumps) == world_size
    return {
        (name, desc): tuple(range(size)) if desc == _WORLD else tuple(sorted(ranks))
        for (name, desc), ranks in found.items()
        if desc == _WORLD or whole
    }


def _placed(dump: RecorderDump, members: Mapping[tuple[str, str], tuple[int, ...]]) -> RecorderDump:
    if not dump.nameless:
        return dump
    taken = [group for group in dump.groups if group not in dump.nameless]
    groups: dict[ProcessGroup, ProcessGroup] = {group: group for group in taken}
    for group, (name, desc) in dump.nameless.items():
        ranks = members.get((name, desc))
        if ranks is None:
            continue
        alike = sum(one.ranks == ranks and one.desc.split("#")[0] == desc for one in taken)
        groups[group] = ProcessGroup(f"{desc}#{alike + 1}" if alike else desc, ranks)
        taken.append(groups[group])
    return replace(
        dump,
        groups=tuple(taken),
        counters={groups[g]: counts for g, counts in dump.counters.items() if g in groups},
        entries=[replace(e, group=groups[e.group]) for e in dump.entries if e.group in groups],
        nameless={},
    )


def _aligned(dumps: dict[int, RecorderDump]) -> dict[int, RecorderDump]:
    """Return dumps whose entries have the places of one member where older ones were lost."""
    if not any(dump.lost for dump in dumps.values()):
        return dumps
    of_group: dict[ProcessGroup, dict[int, list[RecorderEntry]]] = defaultdict(dict)
    for rank, dump in dumps.items():
        for group in dump.groups:
            held = [one for one in dump.entries if one.group == group and not one.p2p]
            of_group[group][rank] = held
    moved: dict[int, dict[ProcessGroup, int | None]] = defaultdict(dict)
    for group, members in of_group.items():
        longest = max(members, key=lambda rank: (not dumps[rank].lost, len(members[rank])))
        usual = _completed(members[longest])
        for rank, held in members.items():
            moved[rank][group] = 0 if rank == longest else numbering.shift(_completed(held), usual)
    return {rank: dump.shifted(moved[rank]) for rank, dump in dumps.items()}


def _completed(entries: list[RecorderEntry]) -> list[tuple[int, float]]:
    return [(one.sequence, one.completed) for one in entries if one.completed is not None]
