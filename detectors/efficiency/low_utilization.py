"""Jobs whose steps go on while their devices work far below what they could."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians, parts
from ..contract import Detector
from ..findings import report
from ..window import JobWindow
from . import long_time

_LEVELS = (("hw.gpu.sm.activity", 0.5), ("hw.gpu.utilization", 0.65))
"""Metric and the level below which a job's devices are little used, the best known one first: the
guide's for SM activity; of utilization, that no kernel runs at all for a third of the time."""

_SLOWER = 1.2
"""Factor on its former steps from which on a job has a fault: that is why its devices wait."""


class LowUtilizationDetector(Detector):
    """Say that a job uses its devices little over a long time, and what that costs.

    The median device's SM activity, or utilization where that is not reported, over `seconds` in
    which steps ended all along. SM activity below one half is likely an ineffective use, and so are
    devices on which no kernel runs for a third of the time. Worth
    knowing and never a page: a small batch, a slow input pipeline or much communication is how the
    job was made. A job that has become slower has a fault, and its devices wait for that.

    Parameters
    ----------
    seconds : the time range.
    price : cost of one device for an hour, in any currency; None: no money is named.

    Examples
    --------
    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 3601, 15.0)
    >>> window = sketch(np.full((8, 3600), 0.8), now=START + 3600, rank_readings={
    ...     "hw.gpu.sm.activity": readings(at, np.full((8, 1), 0.12))})
    >>> (low,) = LowUtilizationDetector().evaluate(window)
    >>> low.text
    'the devices work 12% of the time (SM activity); not used: 1.17 GPU-hours'

    Fails where neither metric is reported; utilization alone counts a waiting kernel as work.

    References: DCGM user guide, profiling metrics (SM activity below 0.5 likely indicates
    ineffective use); Hu et al., Characterization of large language model development in the
    datacenter (NSDI'24).
    """

    name = "low_utilization"
    kinds = ("job.low_utilization",)
    cadence_seconds = 60.0

    def __init__(self, *, seconds: float = 600.0, price: float | None = None) -> None:
        self.seconds = seconds
        self.price = price

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding on the job, or none."""
        ends = compute_time.step_ends(window.steps)
        ends = ends[np.isfinite(ends)]
        if len(ends) < 10 or compute_time.stale(window.steps, window.now):
            return []
        if window.now - window.attempt_started_at < self.seconds:
            return []
        for metric, least in _LEVELS:
            readings = window.of_ranks(metric)
            # The newest minutes decide first: most jobs are busy, and need no look further back.
            now = readings.mean(window.now - 300.0, window.now)
            now = now[np.isfinite(now)]
            if not len(now):
                continue
            if medians.middle(now) >= least:
                return []
            mean, _, covered = long_time.over(readings, window.now, self.seconds)
            used = mean[covered]
            if len(used) < len(now) / 2 or medians.middle(used) >= least:
                return []
            gaps = np.diff(ends)[parts.WARM_UP :]
            half = len(gaps) // 2
            if half and np.median(gaps[half:]) > _SLOWER * np.median(gaps[:half]):
                return []
            return [self._finding(window, metric, least, medians.middle(used), len(used))]
        return []

    def _finding(
        self, window: JobWindow, metric: str, least: float, used: float, devices: int
    ) -> Finding:
        unused = (1 - used) * devices * self.seconds / 3600
        word = "SM activity" if metric == _LEVELS[0][0] else "utilization"
        return report(
            window,
            self.name,
            "job.low_utilization",
            window.entity,
            onset=window.now - self.seconds,
            magnitude=used,
            score=0.5,
            signal=metric,
            observed=used,
            expected=least,
            text=f"the devices work {used:.0%} of the time ({word}); not used: "
            f"{long_time.cost(unused, self.price)}",
        )
