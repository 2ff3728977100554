"""Divergence: the loss has left the level it had reached, and does not come back."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import curves, medians, onsets
from ..contract import Detector
from ..curves import JobCurve
from ..findings import report
from ..window import Floats, JobWindow

BLOCK = 16
"""Points whose median is a level that the loss has reached."""

FEWEST = 48
"""Points without which nothing was reached yet, unless all that was reached is lost again."""

POINTS, MANY_POINTS, STEPS = 8, 24, 40
"""A rise lasts after so many points over so many steps, or after many points whatever they span."""

CLIMBING = 16
"""Points of a rise that climbs all the while: a spike is highest as it begins, and falls back."""

SIGMAS = 6.0

MOST_OF_DATA = 0.6
"""Other data may raise the loss at once by this share of its level; hurt weights by any."""

JUMP, KEPT, ALONE, MOST_STEPS = 4.0, 0.7, 0.5, 20
"""Other data: a difference of two points, at most so many steps apart, beyond so many standard
deviations, of which this share stays; those beside it are smaller by this factor."""

RANGES = 2.0
"""A loss that has either sign must rise by so many times the range that it spanned before."""

BEFORE = 0.8
"""A loss that has been up by this share of the rise before, and came back, may do so again."""

FEWEST_LOST = 2
"""Points before and after the place where a loss grew by orders of magnitude."""

AROUND, AFTER = 5.0, 3.0
"""Factors by which the gradient norm may be larger at such a rise, and after it."""


def lasting(high: JobCurve) -> bool:
    """Tell whether points that stand high do so for too long to be a spike."""
    if len(high) < POINTS:
        return False
    return len(high) >= MANY_POINTS or int(high.index[-1] - high.index[0]) >= STEPS


class DivergenceDetector(Detector):
    """Report that the loss lies well above the lowest level it had reached, and stays there.

    The lowest median of 16 points in a row since the attempt began is what was reached; the median
    of the newest points is where the loss is now. The rise has to be `least` of that level and six
    standard deviations of a point, last (24 points, or 8 over 40 steps), and not be falling back.
    Above the loss that the attempt began with all that was learnt is lost: there 16 points that
    climb all the while are enough, each third of them six standard deviations above the last.
    A rise that is there within one point, climbs no further and leaves the gradient norm as it was
    is other data (a curriculum, tasks in turn) up to 60% of the level: weights need updates to go
    astray, batches do not.

    Parameters
    ----------
    least : smallest rise, as a share of the lowest level.
    critical : rise from which on it is certain.
    orders : factor by which a loss that has only begun, or of which a log is an excerpt, must have
        grown to be lost whatever was reached; 0: that is not looked at.

    Examples
    --------
    From step 150 on the loss climbs away.

    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.random.default_rng(7).normal(2.0, 0.02, (1, 210))
    >>> loss[0, 150:] += np.linspace(0, 3, 60)
    >>> window = sketch(np.full((1, 210), 0.8), hosts=1, planes={"training.loss": loss})
    >>> (rise,) = DivergenceDetector().evaluate(window)
    >>> rise.text, f"{rise.score:.1f}"
    ('the loss is 4.83, and high since step 152, after it had reached 1.99', '4.0')

    Fails where a change of the data raises the loss by more than 60%, or between reports more than
    20 steps apart: it cannot see what the batches are. A loss that rises within its first 48 points
    without having fallen, by up to 60% after a level of 16 points, is no divergence to it. A loss
    that has either sign, as a policy's, has no level that it reached: it has to leave its range by
    twice that range. Where all are negative, the share is taken of the level's size.

    References: PaLM (2022) 5.1; OPT logbook (2022); Zoph et al., ST-MoE (2022) on instability.
    """

    name = "divergence"
    kinds = ("job.loss_diverged",)
    cadence_seconds = 5.0
    of_steps = True

    def __init__(self, *, least: float = 0.1, critical: float = 0.2, orders: float = 0.0) -> None:
        self.orders = orders
        self.least = least
        self.critical = critical

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding while the loss stands above what it had reached."""
        loss = window.features.whole_loss
        if len(loss) < FEWEST and (first := _lost_at(loss.value, self.orders)):
            level = medians.middle(loss.value[:first])
            return [self._finding(window, loss, first, level, float(loss.value[-1]))]
        # Of a log, which may be an excerpt, half as many climbing points are enough.
        fewest = POINTS if self.orders else CLIMBING
        if len(loss) < BLOCK + fewest:
            return []
        low, place = _reached(loss.value, window.baselines.loss)
        sigma = window.features.loss_noise
        limit = max(self.least * abs(low), SIGMAS * sigma)
        if not medians.middle(loss.value[-POINTS:]) - low >= limit:
            return []
        odd = loss.value > low + limit / 2
        odd[:place] = False
        first = onsets.newest_run(odd)
        if low < 0 < float(loss.value.max()) and not _beyond_its_range(loss.value, first, sigma):
            return []
        high = loss.cut(first, len(loss))
        start = medians.middle(loss.value[: BLOCK // 2])
        learnt = start > low + SIGMAS * sigma and first >= place
        lost = learnt and climbing(high.value, SIGMAS * sigma, above=start + limit, fewest=fewest)
        lasts = lost or (lasting(high) and len(loss) >= FEWEST)
        if not odd[first] or not lasts or _falling(high.value - low):
            return []
        now = medians.middle(high.value[-POINTS:])
        steady = first >= place and now - low > MOST_OF_DATA * max(abs(low), sigma)
        if first < FEWEST and not steady and not start > low + SIGMAS / 2 * sigma:
            return []  # it rises from the first steps on, as learning rates do
        norm = window.features.whole_gradient
        if _other_data(loss, first, low, limit, norm):
            return []
        return [self._finding(window, loss, first, low, now)]

    def _finding(
        self, window: JobWindow, loss: JobCurve, first: int, low: float, now: float
    ) -> Finding:
        share = (now - low) / max(abs(low), window.features.loss_noise, 1e-12)
        before = float(loss.at[max(first - 1, 0)])
        return report(
            window,
            self.name,
            "job.loss_diverged",
            window.entity,
            onset=(before, float(loss.at[first])),
            seen=(before, float(loss.at[-1])),
            magnitude=now - low,
            score=min(1.0 + share / self.critical, 4.0),
            signal=curves.LOSS,
            observed=now,
            expected=low,
            text=f"the loss is {now:.3g}, and high since step {int(loss.index[first])}, "
            f"after it had reached {low:.3g}",
        )


def _lost_at(value: Floats, orders: float) -> int:
    """Return where a loss left its level for another order of magnitude for good, 0: nowhere.

    What it had been is a level where it is above zero and spans less than a factor of two.
    """
    if not orders or len(value) < 2 * FEWEST_LOST:
        return 0
    for first in range(FEWEST_LOST, len(value) - FEWEST_LOST + 1):
        before, high = value[:first], value[first:]
        highest = float(before.max())
        if not 0 < highest <= 2 * float(before.min()):
            return 0
        if high.min() > 2 * highest and high[-FEWEST_LOST:].min() > orders * highest:
            return first
    return 0


def _reached(value: Floats, memory: curves.CurveMemory) -> tuple[float, int]:
    """Return the lowest level, and the place after the points that it is the median of."""
    level = curves.trailing_median(np.append(value, np.nan), BLOCK, memory)[BLOCK:]
    place = int(np.argmin(level))
    return float(level[place]), place + BLOCK


def _beyond_its_range(value: Floats, first: int, sigma: float) -> bool:
    """Tell whether a loss that has either sign has left the range that it spanned.

    That of a policy swings around zero, and its lowest level is none that it had reached.
    """
    level = curves.trailing_median(np.append(value[:first], np.nan), POINTS)[POINTS:]
    if not len(level):
        return False
    range_before = max(float(np.ptp(level)), SIGMAS * sigma)
    return medians.middle(value[-POINTS:]) > float(level.max()) + RANGES * range_before


def _falling(rise: Floats) -> bool:
    """Tell whether the newest third of a rise lies well below its highest third."""
    third = max(len(rise) // 3, 3)
    level = curves.trailing_median(np.append(rise, np.nan), third)[third:]
    return bool(level[-1] < 0.7 * level.max())


def climbing(high: Floats, least: float, *, above: float = -np.inf, fewest: int = CLIMBING) -> bool:
    """Tell whether high points climb all the while: each third of them by `least`, to `above`."""
    if len(high) < fewest:
        return False
    thirds = [medians.middle(part) for part in np.array_split(high, 3)]
    return thirds[-1] > above and bool((np.diff(thirds) > least).all())


def _other_data(loss: JobCurve, first: int, low: float, limit: float, norm: JobCurve) -> bool:
    """Tell whether a rise at a point came from the batches: bounded, and in jumps only.

    Or the loss had been as high before, and had come back.
    """
    if first < POINTS:
        return False
    since = loss.cut(first - POINTS, len(loss))
    sigma = curves.noise(loss.value)
    newest = medians.middle(since.value[-POINTS:])
    if newest - low > MOST_OF_DATA * max(abs(low), sigma):
        return False
    left = since.value - np.cumsum(_jumps(since, JUMP * sigma))
    climbs = float(np.median(left[-POINTS:]) - np.median(left[:POINTS])) > limit / 2
    if climbs and _highest(loss.value[:first], low + limit / 2) < low + BEFORE * (newest - low):
        return False
    return not _larger(norm, int(loss.index[first]))


def _highest(value: Floats, reached: float) -> float:
    """Return the highest level of POINTS points after those that had `reached` a level."""
    level = curves.trailing_median(np.append(value, np.nan), POINTS)[POINTS:]
    low = np.flatnonzero(level <= reached)
    return float(level[int(low[0]) :].max()) if len(low) else -np.inf


def _jumps(loss: JobCurve, least: float) -> Floats:
    """Return [points], by how much the level changed from one point to the next, for good."""
    value, count = loss.value, len(loss)
    change = np.diff(value, prepend=value[:1])
    size = np.abs(change)
    beside = np.maximum(np.append(0.0, size[:-1]), np.append(size[1:], 0.0))
    near = np.diff(loss.index, prepend=loss.index[:1]) <= MOST_STEPS
    jumps = np.zeros(count)
    for place in np.flatnonzero((size > least) & (beside < ALONE * size) & near).tolist():
        before = medians.middle(value[max(place - 4, 0) : place])
        level = medians.middle(value[place : place + 4])
        if (level - before) * np.sign(change[place]) > KEPT * size[place]:
            jumps[place] = level - before
    return jumps


def _larger(norm: JobCurve, index: int) -> bool:
    """Tell whether the gradient norm was larger around a step, or has been since."""
    usual = norm.until(index - 1).last(4 * POINTS).value
    around = norm.after(index - 3).until(index + 2).value
    after = norm.after(index).cut(0, POINTS).value
    if len(usual) < POINTS or not len(around) or not len(after):
        return False
    middle = medians.middle(usual)
    return float(around.max()) > AROUND * middle or medians.middle(after) > AFTER * middle
