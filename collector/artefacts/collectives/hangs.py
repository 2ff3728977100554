"""A hang as logs tell it, gathered line by line: who waited, who ended, who is waited for.

Whoever waits in a collective for the whole time-out logs that; the rank that the others wait for
does not.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from ....formats.training_logs import watchdog
from ....formats.training_logs.watchdog import WatchdogReport
from ....vocabulary.samples import Event
from ..job.size import MOST_RANKS
from . import horovod, hung_groups
from .hang_story import HangStory
from .horovod import HorovodStall

_WAITED = re.compile(
    r"^(?:nccl\.(?:watchdog_timeout|watchdog_status|dump_signal|desync)|hccl\.notify_timeout|"
    r"gloo\.(?:timeout|barrier_timeout))$"
)
_CUT = re.compile(r"^gloo\.(?:connection_lost|pair_closed)$")
"""Signatures of ranks that waited as well: gloo closes its connections when one gives up."""

_STUCK = re.compile(r"^nccl\.(?:watchdog_stuck|heartbeat_timeout)$")
_FATAL = re.compile(
    r"^(?:python\.(?:exception|segfault|bus_error|fatal_error)|cuda\.|gpu\.out_of_memory|"
    r"dataloader\.|shm\.exhausted|storage\.|checkpoint\.|driver\.|library\.|native\.)"
)
"""Signatures of errors that end the process of the rank which logs them."""

_WITHOUT_DURATION = 600.0
"""How long a collective ran whose line does not say it, in seconds: torch's own time-out."""

_ZONE_SECONDS, _MOST_ZONES = 900.0, 56


@dataclass(slots=True)
class CollectiveHang:
    """What all ranks reported that waited, and the ranks that ended by an error of their own.

    `fatal`: when each of these did, where known. `files`: ranks by the file that their lines are
    in. `cut`: ranks that lost their peers. `late`: ranks that a line names as those waited for, or
    a stack. `apart`: ranks whose stacks are in another collective than those of their peers.
    `stuck`: ranks whose own watchdog did not get on, though they waited in nothing by then.
    """

    reports: dict[int, list[tuple[float | None, WatchdogReport]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    fatal: dict[int, float | None] = field(default_factory=dict)
    files: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    cut: set[int] = field(default_factory=set)
    late: set[int] = field(default_factory=set)
    apart: set[int] = field(default_factory=set)
    stuck: set[int] = field(default_factory=set)
    stalled: HorovodStall = field(default_factory=HorovodStall)

    def learn(self, event: Event, rank: int | None, at: float | None) -> Event:
        """Take what a line reports, written at `at` where it says so; return it as it is to stand.

        A line about a wait that has no time stands for the wait's end, wherever it is.
        """
        signature = str(event.attributes.get("signature", ""))
        if event.name != "log.fault" or (rank or 0) >= MOST_RANKS:
            return event
        if _WAITED.match(signature):
            report = watchdog.read(str(event.attributes.get("text", "")))
            if report is not None:
                self.late |= {late for late in report.late if late < MOST_RANKS}
                if rank is not None:
                    self.reports[rank].append((at, report))
            return event if at is not None else replace(event, at=0.0)
        if horovod.is_stall(event):
            self.stalled.learn(str(event.attributes.get("text", "")), at)
            return event
        if rank is None:
            return event
        if _CUT.match(signature):
            self.cut.add(rank)
        elif _STUCK.match(signature):
            if rank in self.waited:  # it waits for the end of a communicator that it gave up
                return replace(event, attributes={**event.attributes, "role": "cascade"})
            self.stuck.add(rank)
        elif _FATAL.match(signature) and event.attributes.get("role") == "root":
            self.fatal.setdefault(rank, event.at or None)
        return event

    def stood(self, waiting: Iterable[int], late: Iterable[int], apart: Iterable[int]) -> None:
        """Take what stacks of ranks show: who waits, for whom, who in another collective."""
        for rank in waiting:
            self.reports[rank].append((None, WatchdogReport(ran=_WITHOUT_DURATION)))
        self.late |= {rank for rank in late if rank < MOST_RANKS}
        self.apart |= set(apart)

    def went_on(self, rank: int | None, file: str, line: int) -> None:
        """Note that a rank ended a step, by a line of a file: what it logged above it survived."""
        self.fatal.pop(-1 if rank is None else rank, None)
        if self.stalled.last[0] and (self.stalled.last[0] != file or self.stalled.last[1] < line):
            self.stalled = HorovodStall()

    def passed(self, file: str, lines: AbstractSet[int]) -> None:
        """Note lines of a file after which the job went on."""
        if self.stalled.last[0] == file and self.stalled.last[1] in lines:
            self.stalled = HorovodStall()

    @property
    def waited(self) -> set[int]:
        """Return the ranks that waited in a collective until it timed out, or was cut off."""
        waited = {
            rank
            for rank, each in self._waits().items()
            if any(one.seq is not None or one.timed_out for _, one in each)
        }
        return waited | self.cut if waited else waited

    def _waits(self) -> Mapping[int, Sequence[tuple[float | None, WatchdogReport]]]:
        """Return all reports by rank, and what Horovod's newest warning says."""
        if not self.stalled.last[0]:
            return self.reports
        rank = self.stalled.waiting
        return {**self.reports, rank: [*self.reports.get(rank, []), self.stalled.report]}

    def zone_apart(self, stood: float | None) -> float:
        """Return by how much the times of logs are to be moved to agree with `stood`, s.

        That is when dumps say that the last collective was launched, in a zone that is known. Zones
        lie whole quarters of an hour apart; anything else is a difference of another kind: 0.
        """
        if stood is None or not any(at for each in self._waits().values() for at, _ in each):
            return 0.0
        apart = stood - self._times(stood, begins=True)[0]
        zones = round(apart / _ZONE_SECONDS)
        off = abs(apart - zones * _ZONE_SECONDS)
        return zones * _ZONE_SECONDS if off < 60.0 and abs(zones) <= _MOST_ZONES else 0.0

    def shift(self, seconds: float) -> None:
        """Move all times by so much."""
        for each in self.reports.values():
            each[:] = [(None if at is None else at + seconds, one) for at, one in each]
        self.stalled.shift(seconds)
        self.fatal = {rank: None if at is None else at + seconds for rank, at in self.fatal.items()}

    def story(self, at: float, size: int, logs: Iterable[int], *, begins: bool) -> HangStory | None:
        """Return what follows from it all, None where no rank waited.

        `at`: when the wait began (`begins`) or was over, s since the epoch, where its lines have no
        time. `size`: of the job, 0 where it is not known. `logs`: ranks that have a log.
        """
        waited = self.waited
        if not waited:
            return None
        stuck = self.stuck - waited
        if not self.late and len(stuck) <= len(waited):
            self.late |= stuck
        began, until = self._times(at, begins=begins)
        size = max(size, self._whole())
        present = self.present(logs, size)
        every = frozenset(range(max(size, max(present) + 1)))
        standings = hung_groups.standings(
            {rank: [one for _, one in each] for rank, each in self.reports.items()}
        )
        return HangStory(
            began=began,
            until=until,
            waited=frozenset(waited),
            crashed={rank: max(ended or began, began) for rank, ended in self.fatal.items()
                     if rank not in waited},
            late=frozenset((self.late | self.stalled.late(size)) - waited),
            apart=self.stalled.apart(size) | self.apart,
            present=present,
            absent=every - present - self.late,
            sized=size > 0,
            hung=hung_groups.groups(standings, len(every)),
        )  # fmt: skip

    def present(self, logs: Iterable[int], size: int) -> frozenset[int]:
        """Return the ranks whose lines, or silence, are known: `logs` are those that have a log."""
        named = frozenset(logs).union(self._waits(), self.fatal, self.cut, *self.files.values())
        named |= self.stalled.late(size) | self.stalled.apart(size)
        lines = frozenset(rank for rank in named if rank < MOST_RANKS)
        return lines | self._covered(lines, size)

    def _whole(self) -> int:
        """Return how many ranks the job has by the sizes of a collective of all of them, else 0."""
        return max(
            (one.members for rank, each in self.reports.items() for _, one in each
             if one.place == rank),
            default=0,
        )  # fmt: skip

    def _times(self, otherwise: float, *, begins: bool) -> tuple[float, float]:
        """Return when the ranks began to wait and when they gave up."""
        every = [pair for each in self._waits().values() for pair in each]
        waits = [(at, one.ran) for at, one in every if one.timed_out] or [
            (at, _WITHOUT_DURATION) for at, one in every if one.seq is not None
        ]
        dated = [(at, ran) for at, ran in waits if at is not None]
        if dated:
            return min(at - ran for at, ran in dated), max(at for at, _ in dated)
        longest = max(ran for _, ran in waits)
        return (otherwise, otherwise + longest) if begins else (otherwise - longest, otherwise)

    def _covered(self, lines: frozenset[int], size: int) -> frozenset[int]:
        """Return ranks that wrote no line into a log which holds all lines of their neighbours.

        They said nothing; one that has no log at all may have said anything. Of two ranks that are
        no neighbours nothing says that the log is of those between them too.
        """
        joint = [ranks for ranks in self.files.values() if len(ranks) > 1]
        most = max((len(ranks) for ranks in joint), default=0)
        found: set[int] = set()
        for ranks in joint:
            inside = set(range(min(ranks), max(ranks) + 1)) - lines
            whole = set(range(max(size, max(lines) + 1))) - lines
            if len(joint) == 1 and len(whole) <= max(1, len(lines) // 3):
                inside = whole
            if len(inside) <= most // 3:
                found |= inside
        return frozenset(found)
