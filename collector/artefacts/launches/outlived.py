"""What launchers call dead though the job went on: synchronous ranks take no step without one.

A node that missed its heartbeats, a worker that was lost, a task that ended: where the steps of the
same run go on in their rhythm, by the ranks that there were, the line was of something else, or was
wrong. So it is no cause of whatever ends the job later. Where steps pause or are made again, the
job was started anew, and the line stays what it is.
"""

import itertools
import statistics
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ....vocabulary.samples import Sample
from ..found import LogQuote
from ..job.endings import UNDATED
from ..job.span import lasting
from .record import FiledReport

_ENDS = frozenset({"node", "exit", "raised", "verdict", "oom"})
_ENDS_SECONDS = 360.0
"""So long steps go on after an end that was none: pods of a node that is not ready are evicted
after 300 s, and get 30 more to end."""
_TAKEN = {"Evicted": 900.0, "Preempted": 3600.0, "SpotReclaimed": 3600.0, "NodeShutdown": 3600.0}
"""The same of schedulers that take a host away, by reason, s: who is to end gets some time."""
_FEWEST_STEPS = 4
"""What was queued on devices as a rank ended is fewer."""
_PAUSE_SECONDS, _PAUSE_TIMES = 30.0, 2.0
"""No pause: so long, or so many times the longest one before."""
_FALL_SECONDS, _FALL_TIMES = 10.0, 3.0
"""Counts that fall after so long, and so many steps, begin a start anew; others an epoch."""

BUFFERED_LINES = 150
"""Lines of steps below one without a time: what a buffer of 8 KiB holds back is fewer."""


@dataclass(frozen=True, slots=True)
class StepCourse:
    """When the steps of a job were logged: times ascending, each rank's last, where counts fell."""

    times: Sequence[float]
    last: Mapping[int | None, float]
    first: Mapping[int | None, float]
    falls: Sequence[float]

    @classmethod
    def of(
        cls, samples: Iterable[tuple[int | None, Sample]], falls: Iterable[float]
    ) -> "StepCourse":
        times = set[float]()
        first: dict[int | None, float] = {}
        last: dict[int | None, float] = {}
        for rank, sample in samples:
            if sample.metric.startswith("training.") and sample.at >= UNDATED:
                times.add(sample.at)
                first[rank] = min(first.get(rank, sample.at), sample.at)
                last[rank] = max(last.get(rank, 0.0), sample.at)
        return cls(sorted(times), last, first, sorted(falls))

    def went_on(self, at: float, seconds: float) -> bool:
        """Tell whether the same run made steps for so long after `at`, by all of its ranks."""
        begin = bisect_right(self.times, at)
        before, after = self.times[:begin], self.times[begin:]
        if len(after) < _FEWEST_STEPS or after[-1] - at < seconds:
            return False
        if any(self.last[rank] <= at for rank, first in self.first.items() if first <= at):
            return False
        until = bisect_right(after, at + seconds)
        near = [*before[-1:], *after[: max(until + 1, _FEWEST_STEPS)]]
        gaps = [later - earlier for earlier, later in itertools.pairwise(near)]
        longest = max((later - one for one, later in itertools.pairwise(before)), default=0.0)
        if max(gaps) > max(_PAUSE_SECONDS, _PAUSE_TIMES * longest):
            return False
        usual = max(_FALL_SECONDS, _FALL_TIMES * statistics.median(gaps))
        paused = {later for gap, later in zip(gaps, near[1:], strict=True) if gap > usual}
        return paused.isdisjoint(self.falls)


def apart(
    reports: Sequence[FiledReport],
    course: StepCourse,
    outlived: Iterable[tuple[str, int]],
    stepped: Mapping[str, int],
    done: Mapping[str, int],
) -> tuple[list[FiledReport], list[LogQuote]]:
    """Return the reports that may be of the end, and the lines of those that the job outlived.

    outlived: places of lines without a time below which steps go on. stepped: by log the first line
    of a step; what has no time of its own and stands above it may be pasted from elsewhere. done:
    by log the line that says that the training is complete: a task that ended before its first step
    was another command of the script.
    """
    outlived = set(outlived)
    kept: list[FiledReport] = []
    quotes: list[LogQuote] = []
    for one in reports:
        report = one.report
        seconds = _lasts(one)
        placed = report.dated or stepped.get(one.file, report.line) < report.line
        if seconds is not None and not placed and report.line < done.get(one.file, 0):
            quotes.append(_quote(one, "the training that follows it was completed"))
        elif seconds is None or not placed:
            kept.append(one)
        elif report.at is None and one.place in outlived:
            quotes.append(_quote(one, f"over {BUFFERED_LINES} lines of steps follow it"))
        elif report.at is not None and course.went_on(report.at, seconds):
            after = lasting(course.times[-1] - report.at)
            quotes.append(_quote(one, f"the job made steps for {after} after it"))
        else:
            kept.append(one)
    return kept, quotes


def _lasts(one: FiledReport) -> float | None:
    """Return after how long of steps a report is outlived, s; None: never."""
    form = one.report.form
    if form.kind in _ENDS and one.report.code != 0:
        return _ENDS_SECONDS
    return _TAKEN.get(form.reason) if form.kind == "stop" else None


def _quote(one: FiledReport, why: str) -> LogQuote:
    report = one.report
    text = f"{report.text} ({why})"
    return LogQuote(*one.place, report.at, None, report.form.name, "background", text, report.host)
