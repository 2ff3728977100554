"""Vanishing gradients, by the norm that the job reports."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import curves, medians, onsets
from ..contract import Detector
from ..curves import JobCurve
from ..findings import INFORMATION
from ..window import Flags, JobWindow
from . import sinking
from .divergence import POINTS, lasting
from .gradients import SIGMAS, USUAL, finding, size_of

FEWEST = 32
"""Points without which no norm is usual: a small one is seldom an odd batch."""

LONG_SECONDS = 120.0
"""Where steps are long, points that take so long together are no run of odd batches."""


class GradientVanishingDetector(Detector):
    """Report that the gradient norm is next to nothing while the loss is not.

    The median of the newest eight points against that of all points since the attempt began
    (thinned, so that a slow decay does not take its own measure along), in logarithms and beyond
    eight standard deviations, for as long as a divergence has to last, or for eight points that
    take two minutes. Where the loss has fallen by as much as it could (to a fifth), small gradients
    are what success looks like. On the way there, as information: a norm that was level for 24
    points and has sunk by `sinks` all the while since, where the loss falls no faster (sinking.py).

    Parameters
    ----------
    least : smallest factor below the usual norm.
    sinks : smallest factor below the level that it began to sink from.
    solved : share of its earlier size that the loss may fall to before small norms are normal.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> norm = np.random.default_rng(7).lognormal(0.0, 0.2, (1, 160))
    >>> norm[0, 120:] *= 1e-3
    >>> window = sketch(np.full((1, 160), 0.8), hosts=1, planes={"training.grad_norm": norm})
    >>> (fall,) = GradientVanishingDetector().evaluate(window)
    >>> fall.text
    'the gradient norm is 0.000911 since step 120, usually 0.912'

    Fails where it was small from the first step; slowly sinking norms where no loss is reported,
    in the first 24 points, and once the level before is 256 points ago. Cannot see which layer is
    starved.

    References: Pascanu et al. (ICML'13).
    """

    name = "gradient_vanishing"
    kinds = ("job.gradient_vanished",)
    cadence_seconds = 5.0
    of_steps = True

    def __init__(self, *, least: float = 30.0, sinks: float = 10.0, solved: float = 0.2) -> None:
        self.least = least
        self.sinks = sinks
        self.solved = solved

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding while the norm is that small."""
        norm = window.features.whole_gradient
        return self._fell(window, norm) or self._sinks(window, norm)

    def _sinks(self, window: JobWindow, norm: JobCurve) -> list[Finding]:
        """Return that the norm sinks, though nothing is gained by it."""
        past = norm.last(USUAL)
        loss = window.features.whole_loss
        sunk = sinking.sinks(size_of(past.value), past, loss, least=float(np.log(self.sinks)))
        if sunk is None:
            return []
        first, now, level = sunk
        return [finding(window, self, past, first, (now, level), INFORMATION)]

    def _fell(self, window: JobWindow, norm: JobCurve) -> list[Finding]:
        """Return that the norm is next to nothing."""
        memory = window.baselines.gradient.curve
        if len(norm) < FEWEST:
            return []
        size = size_of(norm.value)
        usual = medians.middle(size_of(memory.value)) if len(memory) else medians.middle(size)
        limit = max(np.log(self.least), SIGMAS * curves.noise(size[: len(size) // 2]))
        now = medians.middle(size[-8:])
        odd: Flags = size < usual - limit / 2
        first = onsets.newest_run(odd)
        low = norm.cut(first, len(norm))
        long = len(low) >= POINTS and float(low.at[-1] - low.at[0]) >= LONG_SECONDS
        if not now < usual - limit or not (long or lasting(low)):
            return []
        if self._solved(window, int(norm.index[first])):
            return []
        return [finding(window, self, norm, first, (now, usual), min((usual - now) / limit, 4.0))]

    def _solved(self, window: JobWindow, since: int) -> bool:
        loss = window.features.whole_loss
        before = loss.until(since).value
        if not len(before) or not len(loss):
            return False
        start = medians.middle(before[: max(len(before) // 4, 1)])
        return medians.middle(loss.value[-8:]) < self.solved * start
