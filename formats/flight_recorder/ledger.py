"""The dumps of many ranks side by side: who is how far in which group, and who called what."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...vocabulary.groups import Group
from ...vocabulary.samples import Sample, Scalar, attributes
from .dumps import Counters, Dump, Entry

SOURCE = "flight_recorder"

_EQUAL_SIZES = ("all_reduce", "allreduce", "broadcast", "all_gather", "allgather", "reduce_scatter")
"""Kinds whose sizes are the same on every member: how a name begins."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """All dumps of one job, by global rank."""

    dumps: Mapping[int, Dump]
    _p2p: frozenset[Group] = field(init=False)

    def __post_init__(self) -> None:
        found = {entry.group for dump in self.dumps.values() for entry in dump.entries if entry.p2p}
        object.__setattr__(self, "_p2p", frozenset(found))

    @property
    def groups(self) -> list[Group]:
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

    def comparable(self, group: Group) -> bool:
        """Tell whether the counters of a group mean the same on every member.

        Sends and receives are counted too, and each member has others.
        """
        return group.kind != "pp" and group not in self._p2p and len(group.ranks) > 1

    def open_entries(self) -> Iterator[tuple[int, Entry]]:
        """Yield each operation that is not complete, with its rank."""
        for rank, dump in self.dumps.items():
            for entry in dump.entries:
                if not entry.done:
                    yield rank, entry

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

    def mismatches(self) -> Iterator[tuple[Group, int, dict[int, str]]]:
        """Yield (group, sequence, {rank: operation}) where members called different operations."""
        seen: dict[Group, dict[int, dict[int, Entry]]] = defaultdict(lambda: defaultdict(dict))
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


def _called(entries: Mapping[int, Entry]) -> dict[int, str]:
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


def _labels(rank: int, group: Group) -> tuple[tuple[str, Scalar], ...]:
    return attributes({"rank": rank, "group": group.name, "source": SOURCE})


def _named(counts: Counters) -> tuple[tuple[str, int], ...]:
    return (("enqueued", counts.enqueued), ("completed", counts.completed))
