"""Steps replayed over their dependencies, with part of the work replaced.

What a replay cannot explain of a step (the exchange itself) stays as it was measured: a step
without the cause takes what it took, less the difference of the two replays.
"""

import math
from dataclasses import dataclass

import numpy as np

from ...vocabulary.ids import Fault
from ..arrays import Floats, Ints
from ..window import JobWindow
from . import history
from .graph import StepGraph, graph_of, join
from .history import PredictedMean
from .peers import drawn
from .replaced import ReplacedPart, replaced_part
from .spans import StepSpans
from .work import RankWork, work_of

DRAWS = 8
"""Draws of what the suspects would do."""

OF_GAIN = 0.03
"""Share of the difference that measuring parts of steps may be wrong by, as a standard error."""

OF_STEP = 0.003
"""The same of the step itself: parts of steps are measured on each rank, to the millisecond."""


def replayed(window: JobWindow, spans: StepSpans, fault: Fault, rows: Ints) -> PredictedMean | None:
    """Return the steps without a fault at some rows (none: all of them), None without parts."""
    work = work_of(window, spans.now)
    if work is None or not np.isfinite(work.busy).any():
        return None
    part = replaced_part(fault)
    steps = _JobSteps(window, spans, work, graph_of(window))
    if part is ReplacedPart.EXCHANGE:
        return steps.with_earlier_exchange()
    if 0 < len(rows) < len(work.busy):
        return steps.with_peers(rows)
    if part is ReplacedPart.DATA:
        return steps.with_earlier_data()
    return None


@dataclass(frozen=True, slots=True)
class _JobSteps:
    """The steps since an onset, and what they are replayed by."""

    window: JobWindow
    spans: StepSpans
    work: RankWork
    graph: StepGraph

    @property
    def duration(self) -> Floats:
        """Return [steps], how long the steps took."""
        return history.without_long(self.window.features.duration[self.spans.now])

    def with_peers(self, rows: Ints) -> PredictedMean | None:
        """Return the steps with the work of some rows as it is on their peers."""
        draws = drawn(self.window, self.spans, self.work, rows, DRAWS)
        if draws is None:
            return None
        others = np.ones(len(self.work.busy), np.bool_)
        others[rows] = False
        left = np.flatnonzero(others)
        rest = self.graph.meet(self.work.data[left], self.work.busy[left], left)
        actual = join(rest, self.graph.meet(self.work.data[rows], self.work.busy[rows], rows))
        span = self.graph.span(actual)
        saved = np.stack(
            [
                span - self.graph.span(join(rest, self.graph.meet(one.data, one.busy, rows)))
                for one in draws.works
            ]
        )
        return self._mean(saved, draws.error)

    def with_earlier_exchange(self) -> PredictedMean | None:
        """Return the steps with the exchange as long as before the onset."""
        now = self.duration - self._span(self.work)
        earlier = work_of(self.window, self.spans.before)
        if earlier is None:
            return None
        duration = history.without_long(self.window.features.duration[self.spans.before])
        return self._with_earlier(now, duration - self._span(earlier))

    def with_earlier_data(self) -> PredictedMean | None:
        """Return the steps with waits for batches as before the onset."""
        earlier = work_of(self.window, self.spans.before)
        if earlier is None:
            return None
        now, none = self._span(self.work), np.zeros_like
        without = self._span(RankWork(none(self.work.data), self.work.busy))
        before = self._span(earlier) - self._span(RankWork(none(earlier.data), earlier.busy))
        return self._with_earlier(now - without, before)

    def _with_earlier(self, now: Floats, before: Floats) -> PredictedMean | None:
        """Return the steps with one part of them, [steps], as it was before."""
        known = np.isfinite(self.duration) & np.isfinite(now)
        expected = history.predicted(before, int(known.sum()))
        if expected is None or not known.any():
            return None
        mean = float((self.duration - now)[known].mean()) + expected.mean
        step = float(self.duration[known].mean())
        return PredictedMean(mean, math.hypot(expected.margin, _measured(step, step - mean)))

    def _span(self, work: RankWork) -> Floats:
        return self.graph.span(self.graph.meet(work.data, work.busy))

    def _mean(self, saved: Floats, error: float) -> PredictedMean | None:
        """Return the mean of steps that are shorter by what is saved, [draws, steps]."""
        known = np.isfinite(self.duration)
        if not known.any():
            return None
        by_draw = saved[:, known].mean(axis=1)
        step, gain = float(self.duration[known].mean()), float(by_draw.mean())
        chance = history.NORMAL_90 * math.hypot(float(by_draw.std(ddof=1)), error)
        return PredictedMean(step - gain, math.hypot(chance, _measured(step, gain)))


def _measured(step: float, gain: float) -> float:
    """Return half of the 90 % interval that comes of how parts of steps are measured."""
    return history.NORMAL_90 * math.hypot(OF_GAIN * gain, OF_STEP * step)
