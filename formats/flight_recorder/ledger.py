"""The dumps of many ranks side by side: who is how far in which group, and who called what."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...vocabulary.groups import ProcessGroup
from ...vocabulary.operations import MemberOperation
from ...vocabulary.samples import Sample, Scalar, attributes
from .dumps import GroupCounters, RecorderDump, RecorderEntry

SOURCE = "flight_recorder"

_EQUAL_SIZES = ("all_reduce", "allreduce", "broadcast", "all_gather", "allgather", "reduce_scatter")
"""Kinds whose sizes are the same on every member: how a name begins."""


@dataclass(frozen=True, slots=True)
class DumpLedger:
    """All dumps of one job, by global rank."""

    dumps: Mapping[int, RecorderDump]
    _p2p: frozenset[ProcessGroup] = field(init=False)

    def __post_init__(self) -> None:
        found = {entry.group for dump in self.dumps.values() for entry in dump.entries if entry.p2p}
        object.__setattr__(self, "_p2p", frozenset(found))

    @property
    def groups(self) -> list[ProcessGroup]:
        """Return every group that a dump names, in a fixed order."""
        found = {group for dump in self.dumps.values() for group in dump.groups}
        return sorted(found, key=lambda group: (group.ranks, group.desc))

    @property
    def ranks(self) -> list[int]:
        """Return every rank that a dump is of, or that a group names."""
        named = {rank for group in self.groups for rank in group.ranks}
        return sorted(named | set(self.dumps))

    @property
    def absent(self) -> list[int]:
        """Return the ranks that a group names and that left no dump: gone, or stuck beyond that."""
        return [rank for rank in self.ranks if rank not in self.dumps]

    def comparable(self, group: ProcessGroup) -> bool:
        """Tell whether the counters of a group mean the same on every member.

        Sends and receives are counted too, and each member has others.
        """
        return group.kind != "pp" and group not in self._p2p and len(group.ranks) > 1

    def open_entries(self) -> Iterator[tuple[int, RecorderEntry]]:
        """Yield each operation that is not complete, with its rank."""
        for rank, dump in self.dumps.items():
            for entry in dump.entries:
                if not entry.done:
                    yield rank, entry

    @property
    def idle(self) -> bool:
        """Tell whether every rank completed all that it launched, as much as its peers did."""
        if self.absent or any(True for _ in self.open_entries()):
            return False
        for group in filter(self.comparable, self.groups):
            held = {dump.counters.get(group) for rank, dump in self.dumps.items()
                    if rank in group.ranks}  # fmt: skip
            if len(held) > 1 or any(one and one.completed < one.enqueued for one in held):
                return False
        return True

    @property
    def last(self) -> float:
        """Return when an operation was last enqueued or seen to complete; -inf if never."""
        times = (
            at
            for dump in self.dumps.values()
            for entry in dump.entries
            for at in (entry.created, entry.completed)
            if at is not None
        )
        return max(times, default=-math.inf)

    @property
    def timeout(self) -> float:
        """Return the longest time-out of the open operations, in seconds; 0 where none is known."""
        return max((entry.timeout for _, entry in self.open_entries()), default=0.0)

    def counters(self, rank: int, at: float) -> list[Sample]:
        """Return how far a rank is in each comparable group, as samples of the wire."""
        found: list[Sample] = []
        for group, counts in self.dumps[rank].counters.items():
            if not self.comparable(group):
                continue
            labels = _labels(rank, group)
            # A number below zero: the group has done nothing yet.
            found += [
                Sample(f"collective.{name}", float(max(count, 0)), at, labels)
                for name, count in _named(counts)
            ]
        return found

    def progress(self, rank: int) -> list[Sample]:
        """Return when a rank was seen to enqueue and to complete what its recorder still holds."""
        before: set[tuple[str, ProcessGroup]] = set()
        moves: list[tuple[float, str, ProcessGroup, int]] = []
        for entry in self.dumps[rank].entries:
            if entry.p2p or not self.comparable(entry.group):
                continue
            if entry.created is not None:
                moves.append((entry.created, "enqueued", entry.group, entry.sequence))
            if entry.completed is not None:
                moves.append((entry.completed, "completed", entry.group, entry.sequence))
        found: list[Sample] = []
        for at, name, group, number in sorted(moves, key=lambda move: move[0]):
            labels, metric = _labels(rank, group), f"collective.{name}"
            if (name, group) not in before:
                before.add((name, group))
                found.append(Sample(metric, number - 1.0, at - 0.5, labels))
            found.append(Sample(metric, float(number), at, labels))
        return found

    def timed_out(self, at: float) -> Iterator[tuple[int, RecorderEntry, float]]:
        """Yield (rank, operation, seconds) of those open for their whole time-out; one a rank."""
        found: set[int] = set()
        for rank, entry in self.open_entries():
            if entry.created is None or not 0 < entry.timeout <= at - entry.created:
                continue
            if rank not in found:
                found.add(rank)
                yield rank, entry, at - entry.created

    def launches(self, at: float) -> list[Sample]:
        """Return, of each group whose members called different operations under one number, which.

        The oldest such number of a group; the kind of operation with its sizes where these differ.
        """
        found: list[Sample] = []
        for group, sequence, called in self.mismatches():
            for rank, kind in sorted(called.items()):
                pairs = dict(_labels(rank, group)) | {"op": kind}
                found.append(Sample("collective.launches", float(sequence), at, attributes(pairs)))
        return found

    def standing(self, rank: int, at: float) -> list[Sample]:
        """Return of each group which operation a rank stands in: the oldest that is not complete.

        With no other rank's dump to compare it to: its kind alone, for others to be compared with.
        """
        oldest: dict[ProcessGroup, RecorderEntry] = {}
        for entry in self.dumps[rank].entries:
            if entry.done or entry.p2p or not self.comparable(entry.group):
                continue
            held = oldest.get(entry.group)
            if held is None or entry.sequence < held.sequence:
                oldest[entry.group] = entry
        return [
            Sample(
                "collective.launches",
                float(entry.sequence),
                at,
                attributes(dict(_labels(rank, group)) | {"op": entry.op}),
            )
            for group, entry in oldest.items()
            if entry.op
        ]

    def operations(self, rank: int) -> dict[ProcessGroup, list[MemberOperation]]:
        """Return the collectives that a rank's recorder holds, in order of their numbers."""
        found: dict[ProcessGroup, list[MemberOperation]] = defaultdict(list)
        for entry in self.dumps[rank].entries:
            if not entry.p2p and self.comparable(entry.group):
                found[entry.group].append(
                    MemberOperation(
                        entry.op,
                        entry.sequence,
                        enqueued_at=entry.created,
                        completed_at=entry.completed,
                    )
                )
        return {group: sorted(each, key=lambda one: one.sequence) for group, each in found.items()}

    def mismatches(self) -> Iterator[tuple[ProcessGroup, int, dict[int, str]]]:
        """Yield (group, sequence, {rank: operation}) where members called different operations."""
        seen: dict[ProcessGroup, dict[int, dict[int, RecorderEntry]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for rank, dump in self.dumps.items():
            for entry in dump.entries:
                if not entry.p2p and self.comparable(entry.group):
                    seen[entry.group][entry.sequence].setdefault(rank, entry)
        for group in sorted(seen, key=lambda group: group.name):
            for sequence, entries in sorted(seen[group].items()):
                called = _called(entries)
                if len(set(called.values())) > 1:
                    yield group, sequence, called
                    break


def _called(entries: Mapping[int, RecorderEntry]) -> dict[int, str]:
    """Return what each rank called, with sizes only where kinds agree and sizes must."""
    kinds = {rank: entry.op for rank, entry in entries.items()}
    if len(set(kinds.values())) > 1:
        return kinds
    if not next(iter(kinds.values()), "").startswith(_EQUAL_SIZES):
        return kinds
    shapes = Counter(entry.shape for entry in entries.values())
    if len(shapes) < 2:
        return kinds
    return {rank: f"{entry.op} of {entry.shape}" for rank, entry in entries.items()}


def _labels(rank: int, group: ProcessGroup) -> tuple[tuple[str, Scalar], ...]:
    return attributes({"rank": rank, "group": group.name, "source": SOURCE})


def _named(counts: GroupCounters) -> tuple[tuple[str, int], ...]:
    return (("enqueued", counts.enqueued), ("completed", counts.completed))
