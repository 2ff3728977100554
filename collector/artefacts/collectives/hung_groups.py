"""Which group each watchdog's line is about, who is in that group, and how far each member is."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....formats.training_logs.watchdog import WORLD, WatchdogReport
from ....vocabulary.equal_sizes import equal_size
from ....vocabulary.groups import ProcessGroup

POINT_TO_POINT = frozenset({"SEND", "RECV", "RECVANYSOURCE", "COALESCED", "BATCH_ISEND_IRECV"})
"""Kinds that each member numbers by itself: their numbers compare with nobody's."""


@dataclass(frozen=True, slots=True)
class GroupKey:
    """How lines name a group: in the whole job (`guid`) or in the process (`local`)."""

    guid: str = ""
    local: str = ""
    desc: str = ""

    @property
    def whole(self) -> bool:
        """Tell whether it is the group of all ranks, as torch makes it first."""
        return self.desc == WORLD


@dataclass(slots=True)
class RankStanding:
    """How far a rank is in a group. `seq`: the collective that it waits in, None: in none.

    `members`: how many the group has, where the sizes of a collective tell, else 0.
    """

    place: int | None = None
    seq: int | None = None
    kind: str = ""
    enqueued: int | None = None
    completed: int | None = None
    members: int = 0

    def take(self, report: WatchdogReport) -> None:
        """Add what a line says: who waits in a collective has launched it and not completed it."""
        self.place = report.place if self.place is None else self.place
        if report.seq is not None:
            self.seq = report.seq if self.seq is None else min(self.seq, report.seq)
        self.members = max(self.members, report.members)
        if report.op:
            name = report.op.strip("_")
            size = equal_size(name, *report.size.split("/")) if report.size else ""
            self.kind = f"{name} of {size}" if size else name
        if report.enqueued is not None and self.enqueued is None:
            self.enqueued, self.completed = report.enqueued, report.completed

    def counters(self, newest: int) -> tuple[int, int]:
        """Return how many collectives were launched and completed, up to the `newest` in question.

        How far a program runs ahead of its device differs between ranks, and means nothing. torch
        2.3 prints a number that it never set where none was completed.
        """
        if self.seq is not None:
            return self.seq, max(self.seq - 1, 0)
        enqueued = max(self.enqueued or 0, 0)
        completed = max(self.completed or 0, 0)
        return min(enqueued, newest), min(completed, enqueued, newest)


Standings = dict[GroupKey, dict[int, RankStanding]]


def standings(reports: Mapping[int, Sequence[WatchdogReport]]) -> Standings:
    """Return by group how far each rank is in it, of the reports by rank.

    The line about a time-out names no group: the line behind it, of the same number, does.
    """
    found: Standings = defaultdict(lambda: defaultdict(RankStanding))
    named: dict[int, set[GroupKey]] = defaultdict(set)
    for rank, each in reports.items():
        for report in each:
            if (key := _key(report)) is not None:
                found[key][rank].take(report)
                if report.seq is not None:
                    named[report.seq].add(key)
    for rank, each in reports.items():
        for report in each:
            if _key(report) is None and report.seq is not None:
                own = {key for key in named[report.seq] if found[key].get(rank)}
                keys = own or _fitting(named[report.seq], report, rank)
                if len(keys) == 1:
                    found[next(iter(keys))][rank].take(report)
    return found


def groups(found: Standings, size: int) -> list[tuple[ProcessGroup, Mapping[int, RankStanding]]]:
    """Return the groups that lines name, each with how far the ranks were that reported from it.

    A number of the process's own stands for several of them. `size`: of the job.
    """
    largest: dict[str, int] = defaultdict(int)
    for key, ranks in found.items():
        places = [one.place for one in ranks.values() if one.place is not None and one.place < size]
        told = max(one.members for one in ranks.values()) - 1
        largest[key.desc] = max(largest[key.desc], told, *places, 0)
    return [
        (group, {rank: ranks[rank] for rank in reporting})
        for key, ranks in found.items()
        for group, reporting in _members(key, ranks, found, size, largest[key.desc])
    ]


def _key(report: WatchdogReport) -> GroupKey | None:
    if report.desc == WORLD or report.guid == "0" or (report.local == "0" and not report.guid):
        return GroupKey(desc=WORLD)
    if report.guid or report.local:
        return GroupKey(report.guid, report.local, report.desc)
    return None


def _fitting(keys: set[GroupKey], report: WatchdogReport, rank: int) -> set[GroupKey]:
    """Return the group of a time-out whose rank names none: that of others at the same number.

    Whose number inside the group is not its number in the job is in another than that of all.
    """
    if report.place in (None, rank):
        return keys or {GroupKey(desc=WORLD)}
    return {key for key in keys if not key.whole}


def _members(
    key: GroupKey, ranks: Mapping[int, RankStanding], found: Standings, size: int, largest: int
) -> list[tuple[ProcessGroup, set[int]]]:
    reporting = set(ranks)
    at = {rank: one.place for rank, one in ranks.items() if one.place is not None}
    in_order = all(rank == place for rank, place in at.items())
    alike = [set(other) for one, other in found.items() if one.desc == key.desc and one != key]
    alone = not any(other.isdisjoint(reporting) for other in alike)
    if key.whole or (in_order and not key.desc and alone):
        count = max(size, largest + 1, max(reporting, default=-1) + 1)
        return [(ProcessGroup(key.desc or WORLD, tuple(range(count))), reporting)]
    if key.guid:
        stride = _stride(at, key.desc)
        if stride is None:
            return []
        return [_group(key, at, stride, size, largest)]
    for stride in range(1, max(size, *reporting, 1) + 1):
        if split := _split(at, stride, largest + 1):
            return [_group(key, each, stride, size, largest) for each in split]
    return []


def _stride(at: Mapping[int, int], desc: str) -> int | None:
    """Return how far apart the ranks of neighbours in a group are, None where they fit no line."""
    points = sorted((place, rank) for rank, place in at.items())
    if len(points) < 2:
        return 1 if ProcessGroup(desc, ()).kind == "tp" and points else None
    (place, rank), (next_place, next_rank) = points[:2]
    if next_place == place or (next_rank - rank) % (next_place - place):
        return None
    stride = (next_rank - rank) // (next_place - place)
    fits = all(one == rank + stride * (where - place) for where, one in points)
    return stride if stride > 0 and fits else None


def _split(at: Mapping[int, int], stride: int, count: int) -> list[dict[int, int]]:
    """Return the groups of ranks whose neighbours are `stride` apart; none if they do not fit."""
    of_base: dict[int, dict[int, int]] = defaultdict(dict)
    for rank, place in at.items():
        of_base[rank - stride * place][rank] = place
    for base, each in of_base.items():
        if base < 0 or base % (stride * count) >= stride or len(set(each.values())) < len(each):
            return []
    return list(of_base.values())


def _group(
    key: GroupKey, at: Mapping[int, int], stride: int, size: int, largest: int
) -> tuple[ProcessGroup, set[int]]:
    """Return the group on a line of ranks: its size holds the largest place and divides the job."""
    rank, place = next(iter(at.items()))
    base = rank - stride * place
    count = max(largest + 1, 2)
    while size and size % count and count < size:
        count += 1
    members = tuple(base + stride * number for number in range(count))
    if base < 0 or (size and members[-1] >= size):
        members = tuple(sorted(at))
    return ProcessGroup(key.desc or f"group {key.guid or key.local}", members), set(at)
