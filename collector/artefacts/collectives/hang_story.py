"""What the logs of a hang tell, as the telemetry that nobody received.

A live collector would have seen counters of collectives; here they follow from the numbers in lines
about waits.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ....vocabulary.groups import ProcessGroup, world
from ....vocabulary.log_lines import AWAITED, ENDS
from ....vocabulary.samples import Event, Sample, Scalar, attributes
from . import differing
from .hung_groups import POINT_TO_POINT, RankStanding

_ONE_SIDED = frozenset({"BROADCAST", "REDUCE", "GATHER", "SCATTER"})
"""Kinds that some members complete though others have not begun."""

_MOST_APART = 100
"""Numbers in one group that lie further apart count something else on some of the ranks."""

Standing = tuple[ProcessGroup, Mapping[int, RankStanding]]
"""A group, and how far the members were that reported from it."""


@dataclass(frozen=True, slots=True)
class HangStory:
    """Who waited for whom, by all logs of a job.

    `began`, `until`: since when ranks waited and when they gave up, s since the epoch. `crashed`:
    when ranks ended by errors of their own. `late`: ranks that lines name as those waited for.
    `apart`: ranks of which lines say that each lacks what others did. `present`: ranks whose lines,
    or silence, are known. `absent`: ranks of which there is no log.
    `sized`: lines say how many ranks there are.
    """

    began: float
    until: float
    waited: frozenset[int]
    crashed: Mapping[int, float]
    late: frozenset[int]
    apart: frozenset[int]
    present: frozenset[int]
    absent: frozenset[int]
    sized: bool
    hung: list[Standing]

    @property
    def silent(self) -> frozenset[int]:
        """Return the ranks whose logs say nothing of the wait, of the groups that waited."""
        if self.late:
            return self.late - self.crashed.keys()
        reported = {rank for _, ranks in self.hung for rank in ranks} - self._behind()
        silent = self.present - self.waited - self.crashed.keys() - reported
        waiting = [
            group
            for group, ranks in self.hung
            if any(one.seq is not None for one in ranks.values())
        ]
        involved = {rank for group in waiting for rank in group.ranks}
        return silent & involved if involved else silent

    def _behind(self) -> set[int]:
        """Return who waits in nothing, and launched less in another group than one that waits did.

        A program launches in one order on all ranks: who is behind in one group is so in all.
        """
        found: set[int] = set()
        for _, ranks in self.hung:
            if any(one.seq is not None for one in ranks.values()):
                continue
            ahead = max(
                (one.enqueued or 0 for rank, one in ranks.items() if rank in self.waited), default=0
            )
            found |= {rank for rank, one in ranks.items() if (one.enqueued or 0) < ahead}
        return found - self.waited

    @property
    def ranks(self) -> frozenset[int]:
        """Return the ranks that were there for sure."""
        return self.waited | self.silent | self.crashed.keys()

    def samples(self) -> Iterator[tuple[int, Sample]]:
        """Yield the counters of collectives by rank: before the wait, at its beginning and end."""
        counted = [one for one in self.hung if _comparable(*one)]
        if not counted:
            # No line has a number that compares: that they waited in one is all that is known.
            group = world(max(self.ranks | self.absent) + 1)
            counted = [(group, {rank: RankStanding(seq=1) for rank in self.waited})]
        for group, ranks in counted:
            yield from self._group(group, ranks)

    def _group(
        self, group: ProcessGroup, ranks: Mapping[int, RankStanding]
    ) -> Iterator[tuple[int, Sample]]:
        # Of members that waited in another group it is not known how far they were in this one.
        elsewhere = self.waited - ranks.keys()
        group = replace(group, ranks=tuple(rank for rank in group.ranks if rank not in elsewhere))
        inside = {rank: one for rank, one in ranks.items() if one.seq is not None}
        newest = max(one.seq or 0 for one in inside.values())
        kinds = _unlike(inside)
        if not kinds and _apart(ranks):  # nobody is behind in what was never one sequence
            kinds = {rank: f"{one.kind} as {one.seq}" for rank, one in inside.items()}
        yield min(ranks), group.info(self.began - 1.0)
        for rank, one in ranks.items():
            labels: dict[str, Scalar] = {"rank": rank, "group": group.name, "source": "log"}
            numbers = (newest, newest - 1) if rank in kinds else one.counters(newest)
            for name, number in zip(("enqueued", "completed"), numbers, strict=True):
                metric = f"collective.{name}"
                for at, value in (
                    (self.began - 1.0, number - 1), (self.began, number), (self.until, number),
                ):  # fmt: skip
                    yield rank, Sample(metric, float(value), at, attributes(labels))
            if rank in kinds:
                pairs = attributes(labels | {"op": kinds[rank]})
                yield rank, Sample("collective.launches", float(newest), self.until, pairs)

    def events(self) -> Iterator[tuple[int, Event]]:
        """Yield the ends of ranks that crashed, and what stands for the silence of the others."""
        for rank, at in sorted(self.crashed.items()):
            yield rank, Event("process.exit", at, {"rank": rank, "exit_code": 1})
        for rank in sorted(self.silent):
            pairs: dict[str, Scalar] = {
                "signature": AWAITED if self.late else ENDS,
                "role": "confirmation",
                "text": f"rank {rank} is what others wait for, by their own lines"
                if self.late
                else "the log of this rank says nothing of the collective that others waited in",
            }
            yield rank, Event("log.fault", self.until, pairs)
        for rank, called in sorted(self._parted().items()):
            text = (
                f"waits in {called}: by how far others of its group are, they did not all call the "
                "same collectives"
            )
            yield rank, differing.apart(rank, text, self.until)

    def _parted(self) -> dict[int, str]:
        """Return what ranks wait in whose group is not in one sequence."""
        found = dict.fromkeys(self.apart, "an operation that others did not submit")
        for group, ranks in self.hung:
            late = _apart(ranks) if _comparable(group, ranks) else []
            sides = {rank: rank in late for rank, one in ranks.items() if one.kind}
            for rank in differing.smaller_sides(sides):
                found[rank] = f"{ranks[rank].kind} as {ranks[rank].seq}"
        return found

    def ended(self, rank: int | None) -> float | None:
        """Return when a rank wrote what has no time: as it crashed, None for another rank."""
        return None if rank is None else self.crashed.get(rank)

    def missing(self) -> list[str]:
        """Return what would tell more."""
        if self.silent or self.crashed:
            return []
        if self.absent:
            ranks = ", ".join(map(str, sorted(self.absent)[:16]))
            several = "s" if len(self.absent) > 1 else ""
            return [f"no log of rank{several} {ranks}, for which the others may have waited"]
        if not self.sized:
            known = len(self.present)
            text = f"how many ranks the job has: no line says it, and {known} are known; the others"
            return [f"{text} may have waited for one that has no log"]
        return []


def _comparable(group: ProcessGroup, ranks: Mapping[int, RankStanding]) -> bool:
    """Tell whether members waited in a group, and its numbers mean the same on all of them."""
    inside = [one for one in ranks.values() if one.seq is not None]
    if not inside or len(group.ranks) < 2 or any(one.kind in POINT_TO_POINT for one in inside):
        return False
    numbers = [one.seq or 0 for one in inside]
    ahead = any((one.completed or 0) >= max(numbers) for one in ranks.values() if one.seq is None)
    # A gather or scatter of another number of ranks is in a group that no line names.
    other = any(one.members not in (0, len(group.ranks)) for one in inside)
    return max(numbers) - min(numbers) <= _MOST_APART and not ahead and not other


def _apart(ranks: Mapping[int, RankStanding]) -> list[int]:
    """Return who waits in what others passed, though they called no one sequence of collectives.

    All members of a collective complete it together. So where others completed two or more beyond
    what a rank waits in, they called others under these numbers. One beyond may be the last message
    of a collective that was lost, or a device that hangs in it; a member of kinds in which not all
    wait for all may be further. Who waits in the same kind as those ahead may count otherwise, and
    is late, unless it launched as many.
    """
    inside = {rank: one for rank, one in ranks.items() if one.seq is not None and one.kind}
    ends = [(one.seq or 0) - 1 for one in inside.values()]
    done = max([*ends, *(one.completed or 0 for one in ranks.values() if one.seq is None), -1])
    ahead = {one.kind for one in inside.values() if (one.seq or 0) > done}
    return [
        rank
        for rank, one in inside.items()
        if one.kind.partition(" ")[0] not in _ONE_SIDED
        and done >= (one.seq or 0) + 1
        and ((one.enqueued or 0) >= done or (ahead and one.kind not in ahead))
    ]


def _unlike(inside: Mapping[int, RankStanding]) -> dict[int, str]:
    """Return what each rank called, where a minority called something else than the others.

    A minority at a higher number of the same kind called one more; one at a lower number is late.
    """
    called = {rank: (one.kind, one.seq or 0) for rank, one in inside.items() if one.kind}
    counts = Counter(called.values()).most_common(1)
    if len(called) < len(inside) or not counts or 2 * counts[0][1] <= len(called):
        return {}
    usual = counts[0][0]
    odd = [one for one in called.values() if one != usual]
    if not any(kind != usual[0] or number > usual[1] for kind, number in odd):
        return {}
    numbered = any(kind == usual[0] for kind, _ in odd)
    return {rank: f"{kind} as {number}" if numbered else kind
            for rank, (kind, number) in called.items()}  # fmt: skip
