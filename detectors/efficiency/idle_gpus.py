"""Devices that a job holds and does not use."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time
from ..activity import BUSY, CPU
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, JobWindow
from . import long_time

_ACTIVITY = ("hw.gpu.sm.activity", "hw.gpu.utilization")

_REPORTED = 0.9
"""Share of the ranks whose device and process must be reported to say that everything rests."""


class IdleGpusDetector(Detector):
    """Report the devices of a job that have done nothing for long, with what that costs.

    SM activity, or utilization where that is not reported, stays below `least` over `seconds`. Only
    devices whose rank's process still lives count: what ended is no longer held by it. All of them
    idle counts where the job has made no step at all, some of them while the others work. A job
    that stepped and stopped hangs, which other detectors report, unless nobody waits for anybody:
    for `stopped` seconds, and longer than the job has paused before, no kernel runs on any device
    (one that waits in a collective spins), no process uses its CPU, and no member of a group has
    launched a collective that is not complete. Where no process' CPU is reported, work on the CPU
    is ruled out by time alone: everything else must rest for `unseen` seconds.

    Parameters
    ----------
    seconds : how long they must be idle; a start with compilation takes less.
    least : activity up to which a device is idle.
    stopped : how long everything must rest after the last step of a job that stepped.
    unseen : the same, where nobody reports what processes use of their CPU.
    price : cost of one device for an hour, in any currency; None: no money is named.

    Examples
    --------
    Four devices are held for 40 minutes; the job never reaches a step.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 2401, 15.0)
    >>> window = sketch(np.zeros((4, 0)), now=START + 2400, rank_readings={
    ...     "hw.gpu.utilization": readings(at, np.zeros((4, 1)))})
    >>> (idle,) = IdleGpusDetector(price=2.0).evaluate(window)
    >>> idle.text
    '4 of 4 devices have been idle for 30 min: 2 GPU-hours, 4 at 2 an hour'

    Fails where devices are reported without a rank, or no rank's process reports. Cannot see
    devices that the scheduler gave to the job and no rank uses.

    References: Jeon et al., Analysis of large-scale multi-tenant GPU clusters (ATC'19). Utilization
    says only that a kernel ran.
    """

    name = "idle_gpus"
    kinds = ("job.idle_gpus",)
    cadence_seconds = 15.0

    def __init__(
        self,
        *,
        seconds: float = 1800.0,
        least: float = 0.02,
        stopped: float = 60.0,
        unseen: float = 300.0,
        price: float | None = None,
    ) -> None:
        self.seconds = seconds
        self.least = least
        self.stopped = stopped
        self.unseen = unseen
        self.price = price

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding on the job, or none."""
        ends = compute_time.step_ends(window.steps)
        stepped = bool(np.isfinite(ends).any())
        newest = float(np.max(ends, initial=-np.inf, where=np.isfinite(ends)))
        least = max(self.stopped, 1.5 * window.baselines.longest_gap)
        if stepped and newest < window.now - least and self._rests(window, newest):
            return [self._stopped(window, newest)]
        idle, known = self._idle(window)
        idle &= window.last_received >= window.now - 60.0
        if not idle.any():
            return []
        some = idle.sum() < known.sum()
        if (stepped and not some) or (stepped and newest < window.now - self.seconds):
            return []
        if window.now - window.attempt_started_at < self.seconds:
            return []
        hours = float(idle.sum()) * self.seconds / 3600
        ranks = window.ranks[idle].tolist()
        return [
            report(
                window,
                self.name,
                "job.idle_gpus",
                window.entity,
                onset=window.now - self.seconds,
                magnitude=float(idle.sum()),
                score=2.0,
                signal=_ACTIVITY[1],
                observed=float(idle.sum()),
                expected=0.0,
                text=f"{idle.sum()} of {known.sum()} devices have been idle for "
                f"{self.seconds / 60:.0f} min: {long_time.cost(hours, self.price)}",
                ranks=ranks if some else (),
            )
        ]

    def _rests(self, window: JobWindow, last: float) -> bool:
        """Return whether nobody calculates, waits in a collective or runs any more.

        By the newest readings: what ran after the last step (an evaluation) may have ended since.
        """
        if not (window.last_received >= window.now - 60.0).all():
            return False
        devices, processes = window.of_ranks(_ACTIVITY[1]), window.of_ranks(CPU)
        seen = processes.newest_at() > -np.inf
        least = self.stopped if seen else max(self.unseen, self.stopped)
        if window.now - last < least:
            return False
        seconds = max(least, 3.2 * devices.period(), 3.2 * processes.period() if seen else 0.0)
        start = max(last + self.stopped / 3, window.now - seconds)
        kernels = devices.mean(start, window.now)
        used = processes.mean(start, window.now) if seen else np.zeros(len(kernels))
        with np.errstate(invalid="ignore"):
            busy = (kernels > self.least) | (used >= BUSY[0])
        if busy.any() or min(np.isfinite(kernels).mean(), np.isfinite(used).mean()) < _REPORTED:
            return False
        with np.errstate(invalid="ignore"):
            return not any((group.enqueued > group.completed).any() for group in window.groups)

    def _stopped(self, window: JobWindow, last: float) -> Finding:
        count, kernels = len(window.ranks), window.of_ranks(_ACTIVITY[1])
        worked = kernels.at[kernels.value > self.least]
        last = max(last, float(worked.max(initial=last)))
        hours = count * (window.now - last) / 3600
        return report(
            window,
            self.name,
            "job.idle_gpus",
            window.entity,
            onset=last,
            magnitude=float(count),
            score=2.0,
            signal=_ACTIVITY[1],
            observed=float(count),
            expected=0.0,
            text=f"{count} devices have been idle for {window.now - last:.0f} s, and nobody waits "
            f"in a collective: {long_time.cost(hours, self.price)}",
        )

    def _idle(self, window: JobWindow) -> tuple[Flags, Flags]:
        """Return [ranks], whose device was idle all the time, and whose is known."""
        idle = np.zeros(len(window.ranks), np.bool_)
        known = idle.copy()
        for metric in _ACTIVITY:
            readings = window.of_ranks(metric)
            if readings.newest_at() == -np.inf:
                continue
            # Most devices work now: only those that do not are looked at any further.
            now: Floats = readings.mean(window.now - 60.0, window.now)
            new = np.isfinite(now) & ~known
            known |= new
            rows = np.flatnonzero(new & (np.nan_to_num(now, nan=1.0) <= self.least))
            if len(rows):
                _, highest, covered = long_time.over(readings.of(rows), window.now, self.seconds)
                idle[rows] = covered & (highest <= self.least)
        return idle, known
