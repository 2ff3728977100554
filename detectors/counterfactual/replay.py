"""Steps replayed over their dependencies, with part of the work replaced.

What a replay cannot explain of a step (the exchange itself) stays as it was measured: a step
without the cause takes what it took, less the difference of the two replays.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...vocabulary import faults
from ...vocabulary.ids import Fault
from ..arrays import Floats, Ints
from ..window import JobWindow
from . import history
from .graph import GroupWork, StepGraph, graph_of, join
from .history import PredictedMean
from .peers import PeerWork
from .spans import StepSpans
from .work import RankWork, work_of

DRAWS = 8
"""Draws of what the suspects would do."""

OF_GAIN = 0.04
"""Share of the difference that measuring parts of steps may be wrong by, as a standard error."""

OF_STEP = 0.005
"""The same of the step itself: parts of steps are measured on each rank, to the millisecond."""


def replayed(window: JobWindow, spans: StepSpans, fault: Fault, rows: Ints) -> PredictedMean | None:
    """Return the steps without a fault at some rows (none: all of them), None without parts."""
    work = work_of(window, spans.now)
    if work is None or not np.isfinite(work.busy).any():
        return None
    part = faults.catalogue()[fault].replaces
    steps = JobSteps(window, spans, work, graph_of(window))
    some = 0 < len(rows) < len(work.busy)
    if part == "exchange":
        return steps.with_earlier_exchange()
    if part == "link" and some:
        return steps.with_another_link(rows)
    if some:
        return steps.with_peers(rows, handed_out=part == "handed_out")
    return steps.with_earlier_data() if part == "data" else None


@dataclass(frozen=True)
class JobSteps:
    """The steps since an onset, and what they are replayed by."""

    window: JobWindow
    spans: StepSpans
    work: RankWork
    graph: StepGraph
    of_roles: bool = False
    """See `PeerWork`."""

    @cached_property
    def peers(self) -> PeerWork:
        """Return what their ranks do, as what others would do."""
        return PeerWork(self.window, self.spans, self.work, of_roles=self.of_roles)

    @property
    def duration(self) -> Floats:
        """Return [steps], how long the steps took."""
        return history.without_long(self.window.features.duration[self.spans.now])

    def with_peers(
        self, rows: Ints, *, handed_out: bool = False, others: GroupWork | None = None
    ) -> PredictedMean | None:
        """Return the steps with the work of some rows as it is on their peers.

        handed_out: everybody waits for the batches of the last of them. others: the work of the
        groups without these rows, where it is known already.
        """
        draws = self.peers.drawn(rows, DRAWS)
        known = np.isfinite(self.duration)
        if draws is None or not known.any():
            return None
        if handed_out:
            every = self._saved_by_all(rows, draws.works)
        else:
            every = self._saved(rows, draws.works, others)
        saved = every[:, known].mean(axis=1)
        step, gain = float(self.duration[known].mean()), float(saved.mean())
        chance = history.NORMAL_90 * math.hypot(float(saved.std(ddof=1)), draws.error)
        return PredictedMean(step - gain, math.hypot(chance, _measured(step, gain)))

    def with_earlier_exchange(self) -> PredictedMean | None:
        """Return the steps with the exchange as long as before the onset."""
        earlier = work_of(self.window, self.spans.before)
        if earlier is None:
            return None
        duration = history.without_long(self.window.features.duration[self.spans.before])
        return self._with_earlier(
            self.duration - self._span(self.work), duration - self._span(earlier)
        )

    def with_another_link(self, rows: Ints) -> PredictedMean | None:
        """Return the steps with the work of rows as on their peers, and the exchange as before."""
        exchange, work = self.with_earlier_exchange(), self.with_peers(rows)
        if exchange is None or work is None:
            return work
        step = float(np.nanmean(self.duration))
        mean = work.mean - (step - exchange.mean)
        return PredictedMean(mean, math.hypot(work.margin, exchange.margin))

    def with_earlier_data(self) -> PredictedMean | None:
        """Return the steps with waits for batches as before the onset."""
        earlier = work_of(self.window, self.spans.before)
        if earlier is None:
            return None
        return self._with_earlier(self._waits(self.work), self._waits(earlier))

    def _waits(self, work: RankWork) -> Floats:
        """Return [steps], by how much waits for batches make steps longer."""
        without = replace(work, data=np.zeros_like(work.data))
        return self._span(work) - self._span(without)

    def _with_earlier(self, now: Floats, before: Floats) -> PredictedMean | None:
        """Return the steps with one part of them, [steps], as it was before."""
        known = np.isfinite(self.duration) & np.isfinite(now)
        expected = history.predicted(before, int(known.sum()))
        if expected is None or not known.any():
            return None
        step = float(self.duration[known].mean())
        mean = step - float(now[known].mean()) + expected.mean
        return PredictedMean(mean, math.hypot(expected.margin, _measured(step, step - mean)))

    def _span(self, work: RankWork) -> Floats:
        return self.graph.span(self.graph.meet(work.ready, work.busy))

    def work_of_others(self, rows: Ints) -> GroupWork:
        """Return the work of the groups without some rows."""
        others = np.ones(len(self.work.busy), np.bool_)
        others[rows] = False
        return self.work_of_rows(np.flatnonzero(others))

    def work_of_rows(self, rows: Ints) -> GroupWork:
        """Return the work of the groups by that of some rows."""
        work = self.work.of(rows)
        return self.graph.meet(work.ready, work.busy, rows)

    def _saved_by_all(self, rows: Ints, draws: Sequence[RankWork]) -> Floats:
        """Return [draws, steps], by how much steps would be shorter where all wait for rows."""
        span = self._span(self.work.handed_out())
        return np.stack([span - self._span(self.work.put(rows, one).handed_out()) for one in draws])

    def _saved(self, rows: Ints, draws: Sequence[RankWork], others: GroupWork | None) -> Floats:
        """Return [draws, steps], by how much steps would be shorter."""
        rest = self.work_of_others(rows) if others is None else others
        span = self.graph.span(join(rest, self.work_of_rows(rows)))
        return np.stack(
            [
                span - self.graph.span(join(rest, self.graph.meet(one.ready, one.busy, rows)))
                for one in draws
            ]
        )


def _measured(step: float, gain: float) -> float:
    """Return half of the 90 % interval that comes of how parts of steps are measured."""
    return history.NORMAL_90 * math.hypot(OF_GAIN * gain, OF_STEP * step)
