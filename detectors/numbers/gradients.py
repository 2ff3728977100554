"""Exploding gradients, by the norm that the job reports; how a norm is measured and reported."""

import math
from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import curves, medians, onsets
from ..contract import Detector
from ..curves import JobCurve
from ..findings import INFORMATION, report
from ..window import Flags, Floats, JobWindow
from .divergence import CLIMBING, POINTS, climbing, lasting

FEWEST = 48
"""Steps, and points of a log of every step, without which no norm is usual: a large one may be an
odd batch, or belong to a warm-up."""

USUAL = 256
"""Points whose median is the usual norm."""

NEWEST = 3
"""Points that must stand out together: a single large norm is one odd batch."""

SIGMAS = 8.0

FALL = float(np.log(1.5))
"""A norm that has fallen by this factor since it rose is on its way back."""

LEVEL, STILL = 16, 24
"""Points whose median is a level, and points for which a norm stands still before it climbs."""

EARLY_LEVEL, EARLY_TIMES = 8, 3.0
"""Points whose median is a level before there are enough to have stood still; of `least`, the
factor that a norm must have climbed by then: a warm-up takes it some way."""

LEAST = 1e-30

SPIKE, BESIDE, SPIKE_FEWEST, SPIKE_WARM_UP = 300.0, 10.0, 8, 3
"""Times the usual norm that a single one is news for whoever asks why a job ended, times that those
beside it stay below, points without which none is usual, and the first ones, which may be anything.
Ten to fifty times are what odd batches of a warm-up have."""

RUNAWAY_FEWEST, RUNAWAY = 8, 10.0
"""Points at the end of a log each of which is larger than the one before, and by which factor all
of them together: a norm that grows by itself grows at every step."""


class GradientExplosionDetector(Detector):
    """Report that the gradient norm is far above its usual size and above all it had reached.

    Norms differ by factors, so logarithms are compared: the median of the newest three points with
    the median of the past 256, and with the highest median of 16 points before the rise, so that a
    norm which grows as training warms up is none. Eight standard deviations at least. A norm that
    falls back step by step belongs to a jump of the loss that training recovers from. One that
    climbs slowly takes what is usual along: where it had stood still for 24 points before, it
    stands against the lowest median of 16 of the past 256 points, by `climbs` and for as long as a
    divergence has to last; by `least`, for 16 points that climb all the while. In the first 40
    points only those count, of three times `least` over the lowest median of 8. Of a job that is
    over, norms of which each is larger than the one before are one that runs away, and a single
    norm of 300 times the usual one between two usual ones is worth knowing.

    Parameters
    ----------
    least : smallest factor over the usual norm.
    reached : smallest factor over the highest level before the rise.
    climbs : smallest factor of a slow rise over the lowest level that it had reached.
    over_at : when the job was over, where that is known, s since the epoch.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> norm = np.random.default_rng(7).lognormal(0.0, 0.2, (1, 160))
    >>> norm[0, 150:] *= 60
    >>> window = sketch(np.full((1, 160), 0.8), hosts=1, planes={"training.grad_norm": norm})
    >>> (rise,) = GradientExplosionDetector().evaluate(window)
    >>> rise.text
    'the gradient norm is 54.6 since step 150, usually 0.988'

    Fails where the norm is reported after clipping, and in the first 24 points of a log of every
    step; where a log has one point in many steps, 16 before the rise are a level. Cannot see which
    layer it comes from: no layer reports.

    References: Pascanu et al. (ICML'13).
    """

    name = "gradient_explosion"
    kinds = ("job.gradient_exploded",)
    cadence_seconds = 5.0
    of_steps = True

    def __init__(
        self,
        *,
        least: float = 10.0,
        reached: float = 4.0,
        climbs: float = 5.0,
        over_at: float = math.inf,
    ) -> None:
        self.least = least
        self.reached = reached
        self.climbs = climbs
        self.over_at = over_at

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding while the norm is that large."""
        norm = window.features.whole_gradient
        found = self._jumped(window, norm) or self._climbed(window, norm)
        if found or window.now < self.over_at:
            return found
        return self._run_away(window, norm) or self._spiked(window, norm)

    def _run_away(self, window: JobWindow, norm: JobCurve) -> list[Finding]:
        """Return that the newest norms grew from each to the next, and by much."""
        size = size_of(norm.value)
        falls = np.flatnonzero(np.diff(size) <= 0)
        first = int(falls[-1]) + 1 if len(falls) else 0
        if len(size) - first < RUNAWAY_FEWEST or size[-1] - size[first] < np.log(RUNAWAY):
            return []
        sizes = (float(size[-1]), float(size[first]))
        return [finding(window, self, norm, first, sizes, 1.5)]

    def _spiked(self, window: JobWindow, norm: JobCurve) -> list[Finding]:
        """Return the largest single norm that is out of all proportion, as information."""
        if len(norm) < SPIKE_FEWEST:
            return []
        size = size_of(norm.value)
        usual = medians.middle(size)
        place = SPIKE_WARM_UP + int(np.argmax(size[SPIKE_WARM_UP:]))
        if place == len(size) - 1 or not size[place] > usual + np.log(SPIKE):
            return []  # what follows the last one is not known
        if not max(size[place - 1], size[place + 1]) < usual + np.log(BESIDE):
            return []
        now = (float(size[place]), usual)
        until = norm.cut(0, place + 1)
        return [finding(window, self, until, place, now, INFORMATION, alone=True)]

    def _climbed(self, window: JobWindow, norm: JobCurve) -> list[Finding]:
        """Return that the norm has climbed, slowly, from where it stood still."""
        past = norm.last(USUAL)
        if len(past) < EARLY_LEVEL + CLIMBING:
            return []
        early = len(past) < STILL + CLIMBING
        count, factor = (EARLY_LEVEL, EARLY_TIMES * self.least) if early else (LEVEL, self.climbs)
        size = size_of(past.value)
        now = medians.middle(size[-POINTS:])
        if not now - float(size.min()) > np.log(factor):
            return []
        level = curves.trailing_median(np.append(size, np.nan), count)[count:]
        place = int(np.argmin(level))
        low, sigma = float(level[place]), curves.noise(size)
        if not now - low > max(np.log(factor), SIGMAS * sigma):
            return []
        # The growth of a warm-up has its lowest level at its start, and stood still nowhere.
        if place + count < STILL and _knee(size) < count:
            return []
        odd: Flags = size > low + (now - low) / 4
        odd[: place + count] = False
        first = onsets.newest_run(odd)
        high = past.cut(first, len(past))
        steadily = now - low > np.log(self.least) and climbing(size[first:], sigma)
        lasts = steadily or (not early and lasting(high))
        if not odd[first] or not lasts or _falling_back(size[first:], sigma):
            return []
        return [finding(window, self, past, first, (now, low), 1.5)]

    def _jumped(self, window: JobWindow, norm: JobCurve) -> list[Finding]:
        """Return that the norm has left what is usual within a few points."""
        if not len(norm) or norm.index[-1] - norm.index[0] + 1 < FEWEST:
            return []
        size = size_of(norm.value)
        usual = medians.middle(size[-USUAL:])
        limit = max(np.log(self.least), SIGMAS * curves.noise(size[-USUAL:]))
        if not medians.middle(size[-NEWEST:]) > usual + limit:
            return []
        odd: Flags = size > usual + limit / 2
        first = onsets.newest_run(odd)
        now = medians.middle(size[first:])
        level = curves.trailing_median(size[: first + 1], 16)
        level = level[np.isfinite(level)]
        highest = float(level.max(initial=-np.inf))
        if len(norm) - first < NEWEST or now < max(usual + limit, highest + np.log(self.reached)):
            return []
        if len(norm) < FEWEST and first < LEVEL:
            return []  # of a log of every tenth step a level before the rise is asked for
        if _falling_back(size[first:], curves.noise(size[-USUAL:])):
            return []
        certain = len(norm) - first >= 2 * NEWEST or now > usual + 2 * limit
        score = 1.0 + (now - usual) / limit * (0.5 + 0.5 * certain)
        return [finding(window, self, norm, first, (now, usual), score)]


def _knee(size: Floats) -> int:
    """Return the place up to which a level fits best, and a line that rises from it thereafter."""
    x = np.arange(float(len(size)))
    return int(np.argmax(curves.bends(x, size, np.arange(len(size) - 2))))


def _falling_back(size: Floats, sigma: float) -> bool:
    """Tell whether a norm that rose is on its way back, as it is when the loss has only jumped.

    size: [points], logarithms since the rise; sigma: their standard deviation. The line through
    them has to fall by three of its standard errors.
    """
    x = np.arange(len(size)) - (len(size) - 1) / 2
    width = max(float(x @ x), 1.0)
    slope = float(x @ size) / width
    return slope < -3 * sigma / width**0.5 and -slope * (len(size) - 1) > FALL


def size_of(norm: Floats) -> Floats:
    """Return the logarithms of norms; that of zero is very small."""
    return np.log(np.maximum(norm, LEAST))


def finding(
    window: JobWindow,
    detector: Detector,
    norm: JobCurve,
    first: int,
    sizes: tuple[float, float],
    score: float,
    *,
    alone: bool = False,
) -> Finding:
    """Return that the norm is (now, usual), as logarithms, since a place of its curve.

    alone: only at that place.
    """
    now, usual = (float(np.exp(size)) for size in sizes)
    before = float(norm.at[max(first - 1, 0)])
    return report(
        window,
        detector.name,
        detector.kinds[0],
        window.entity,
        onset=(before, float(norm.at[first])),
        seen=(before, float(norm.at[-1])),
        magnitude=max(now, usual) / max(min(now, usual), LEAST),
        score=min(score, 4.0),
        signal=curves.GRADIENT,
        observed=now,
        expected=usual,
        text=f"the gradient norm is {now:.3g} {'at' if alone else 'since'} step "
        f"{int(norm.index[first])}, usually {usual:.3g}",
    )
