"""Steps that take longer than this job's own healthy steps."""

import math
from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import own_time
from ..baselines import Baselines
from ..contract import Detector
from ..window import Floats, JobWindow


class SlowSteps(Detector):
    """Compare the newest steps with this job's own healthy ones.

    The median duration of the newest steps stands against the fast side of the window's blocks of
    steps, and against how far those wander, freed of tokens where they explain durations. Slowness
    that needs no healthy past, by a rank's excess over its peers, is reported by stragglers.py.

    Parameters
    ----------
    least : the smallest ratio worth a finding.
    sigmas : how many robust standard errors the newest median must stand above the healthy one.
    seconds, fewest : how much of the newest past is looked at, in time and in steps.
    warm_up : steps at the start of an attempt that say nothing about health.
    blocks : how many blocks of steps a past must hold before it can be called healthy.

    Examples
    --------
    Every step takes a quarter longer from step 40 on.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.random.default_rng(7).normal(0.8, 0.008, (4, 60))
    >>> own[:, 40:] *= 1.25
    >>> window = sketch(own)
    >>> (slow,) = SlowSteps().evaluate(window)
    >>> int(np.searchsorted(window.steps.at[0], slow.onset[1])), round(slow.magnitude, 2)
    (40, 1.2)

    Fails where every rank was slow from the first step by the same factor (nothing to compare
    with), and for slowness in bursts shorter than half of `seconds`.

    Reference: Greyhound (ATC'25) for step-time change points with verification.
    """

    name = "slow_steps"
    kinds = ("job.slow",)

    def __init__(
        self,
        *,
        least: float = 1.1,
        sigmas: float = 5.0,
        seconds: float = 10.0,
        fewest: int = 5,
        warm_up: int = 5,
        blocks: int = 4,
    ) -> None:
        self.least = least
        self.sigmas = sigmas
        self.seconds = seconds
        self.fewest = fewest
        self.warm_up = warm_up
        self.blocks = blocks

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return at most one finding, on the job."""
        steps = window.features.steps
        if len(steps.index) < self.fewest + self.warm_up or window.features.stale:
            return []
        duration = window.features.job_duration
        count = own_time.recent_count(window, seconds=self.seconds, fewest=self.fewest)
        count = min(count, len(steps.index))  # the newest, untold steps are counted as well
        found = self._by_history(duration, count, window.baselines)
        if found is None:
            return []
        healthy, recent, first, noise = found
        ratio = recent / healthy
        at = own_time.step_ends(steps)
        onset = float(at[first])
        before = float(at[max(first - 1, 0)])
        excess = (ratio - 1) / (self.least - 1)
        return [
            Finding(
                kind="job.slow",
                job=window.job,
                attempt=window.attempt,
                entity=window.entity,
                onset=(before, onset),
                magnitude=ratio,
                score=float(min(excess, (recent - healthy) / max(noise, 1e-12) / self.sigmas)),
                detector=self.name,
                signal=own_time.STEP,
                window=(float(at[-count]), float(at[-1])),
                observed=recent,
                expected=healthy,
                text=(
                    f"steps take {recent:.3g} s instead of {healthy:.3g} s "
                    f"({100 * (ratio - 1):.0f} % longer) since step {int(steps.index[first])}"
                ),
            )
        ]

    def _by_history(
        self, duration: Floats, count: int, baselines: Baselines
    ) -> tuple[float, float, int, float] | None:
        """Return (healthy, recent, first slow column, noise) or None."""
        valid = np.flatnonzero(np.isfinite(duration))
        valid = valid[valid >= self.warm_up]
        if len(valid) < 2 * self.fewest:
            return None
        newest = valid[-count:]
        past = valid[:-count]
        size = max(self.fewest, min(count, len(past) // 8))
        if len(past) < self.blocks * size:
            return None
        healthy, wander = _healthy(duration[past], size)
        if baselines.frozen and baselines.healthy_seconds < healthy:
            # While an incident is open its own steps do not become what is healthy.
            healthy = baselines.healthy_seconds
        spread = 1.4826 * float(np.median(np.abs(duration[past] - np.median(duration[past]))))
        error = 1.2533 * spread / math.sqrt(len(newest))
        noise = math.hypot(error, wander) + 0.003 * healthy
        recent = float(np.median(duration[newest]))
        if recent < self.least * healthy or recent - healthy < self.sigmas * noise:
            return None
        limit = (healthy + recent) / 2
        if (duration[newest] > limit).mean() < 0.6:
            return None
        return healthy, recent, _onset(duration, valid, limit), noise


def _healthy(duration: Floats, size: int) -> tuple[float, float]:
    """Return the healthy step time and how far it wanders (as a standard deviation).

    Both come from the medians of blocks of `size` steps, and from their fast side only: a fault
    that fills up to two thirds of the window changes neither.
    """
    whole = len(duration) // size * size
    blocks = np.median(duration[:whole].reshape(-1, size), axis=1)
    fast, healthy, upper = np.quantile(blocks, (0.05, 0.15, 0.3))
    return float(healthy), float(upper - fast) / 1.12


def _onset(duration: Floats, valid: np.ndarray, limit: float) -> int:
    """Return the first column of the newest run of slow steps; three fast steps in a row end it."""
    slow = duration[valid] > limit
    first, fast = len(valid) - 1, 0
    for place in range(len(valid) - 1, -1, -1):
        if slow[place]:
            first, fast = place, 0
        else:
            fast += 1
            if fast >= 3:
                break
    return int(valid[first])
