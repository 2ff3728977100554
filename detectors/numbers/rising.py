"""A loss that climbs to the end of the log of a job that is over."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import curves, medians
from ..ended_jobs import EndedJobDetector
from ..findings import report
from ..window import Floats, JobWindow

FEWEST, CLIMBS, LEAST = 10, 0.9, 0.1
"""So many points since the lowest, of which so much of the order is that of their steps, and by
what share of the lowest they rise at least."""

BEFORE, LAST, TIMES = 4, 3, 2.0
"""Points before, points at the end that are all above every one of those, and by how much the very
last is above the middle of them: a loss that has left its level as the log ends."""

FIRST, STAYS, SPAN = 2, 6, 2.0
"""Points of a first level, points behind it that are all TIMES as high, and the factor within which
those of one level lie: a loss that has gone to another level, and stays there."""

EVEN, FLAT = 8, 0.01
"""So many points at the end, and half of all, that are one level above all before them, and the
share of it within which they lie: a model that had begun to learn, and gives one answer since.
"""

GUESS, LEFT, STILL = 2, 1.5, 0.001
"""Of fewer points at the end: so many, by how much all of them are above every one of three before,
and the share within which they lie, a tenth of what those before spread over. A loss that moves no
more is that of a model which gives one answer; a spike is never twice as high.
"""

ALONE, ORDER = 4, 10.0
"""Points that one last point is compared with, and its factor above the highest of them."""

UNSURE = 0.9
"""Its score: few points prove little, and page nobody."""

MOST = 60
"""Points of a log that is an excerpt; of more the curves of a job say it (divergence.py)."""


class RisingLossDetector(EndedJobDetector):
    """Find a loss that climbs until its log ends, or has left its level for good, in few points.

    In no list of detectors: of a live job more points will come. What is left of a job that is over
    is often an excerpt of ten lines.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.array([[1.45, 1.41, 1.42, 1.43, 1.46, 1.44, 1.47, 1.5, 1.51, 1.57, 1.56, 1.61]])
    >>> window = sketch(np.full((1, 12), 2.0), hosts=1, planes={"training.loss": loss})
    >>> (rise,) = RisingLossDetector(over=0.0).evaluate(window)
    >>> rise.text
    'the loss climbs from 1.41 at step 1 to 1.61 at step 11, where the log ends'

    Fails for what comes back after the log's end, and takes data that get harder, or a term that is
    added to the loss, for one that is lost.

    Reference: Kendall (1938) on the order of pairs.
    """

    name = "rising_loss"
    kinds = ("job.loss_diverged",)

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return at most one finding, on the job."""
        loss = window.baselines.loss.curve
        values = loss.value
        if not LAST + GUESS <= len(values) <= MOST:
            return []
        climbs = _climbing(values)
        first = _left(values) if climbs is None else climbs
        first = _jumped(values) if first is None else first
        first = _collapsed(values) if first is None else first
        first = _guesses(values) if first is None else first
        if first is None:
            return []
        last = len(values) - 1
        return [
            report(
                window,
                self.name,
                "job.loss_diverged",
                window.entity,
                onset=float(loss.at[first]),
                seen=(float(loss.at[first]), float(loss.at[last])),
                magnitude=float(values[last] / values[first]),
                score=UNSURE,
                signal=curves.LOSS,
                observed=float(values[last]),
                expected=float(values[first]),
                text=f"the loss climbs from {values[first]:.3g} at step {int(loss.index[first])} "
                f"to {values[last]:.3g} at step {int(loss.index[last])}, where the log ends",
            )
        ]


def _climbing(values: Floats) -> int | None:
    """Return the place of the lowest value, where nearly all after it climb; else None."""
    first = int(np.argmin(values))
    since = values[first:]
    if len(since) < FEWEST or not values[first] > 0:
        return None
    pairs = np.sign(since[None, :] - since[:, None])[np.triu_indices(len(since), 1)]
    rises = medians.middle(since[-LAST:]) >= (1 + LEAST) * values[first]
    return first if rises and (pairs > 0).mean() >= CLIMBS else None


def _left(values: Floats) -> int | None:
    """Return the last place before those at the end that left the level of all before."""
    before, end = values[:-LAST], values[-LAST:]
    if len(before) < BEFORE or not medians.middle(before) > 0:
        return None
    highest = end[-1] == end.max()  # a spike falls back
    left = end.min() > before.max() and end[-1] >= TIMES * medians.middle(before) and highest
    return len(before) - 1 if left else None


def _jumped(values: Floats) -> int | None:
    """Return the last place before a jump to another level, or of the very last point; else None.

    Values that fall to zero or change their sign have no level.
    """
    usual = values[-1 - ALONE : -1]
    if len(values) < BEFORE + LAST:
        return None
    if usual.min() > 0 and usual.max() <= SPAN * usual.min() and values[-1] > ORDER * usual.max():
        return len(values) - 2
    for first in range(FIRST, len(values) - STAYS + 1):
        before, high = values[:first], values[first:]
        if not 0 < before.max() <= SPAN * before.min():
            return None
        settled = high[1:]  # a report may average over both levels
        stays = settled.max() <= SPAN * settled.min()
        if stays and high.min() > TIMES * medians.middle(before):
            return first - 1
    return None


def _collapsed(values: Floats) -> int | None:
    """Return the place of the lowest value, where a level above all before it follows; else None.

    The loss had fallen to that value.
    """
    usual = medians.middle(values[-EVEN:])
    apart = np.flatnonzero(np.abs(values - usual) > FLAT * abs(usual))
    begin = int(apart[-1]) + 1 if len(apart) else 0
    before, level = values[:begin], values[begin:]
    if len(before) < FIRST or len(level) < max(EVEN, len(before)) or not before.min() > 0:
        return None
    first = int(np.argmin(before))
    fell, above = first > 0, level.min() > before.max()
    return first if fell and above and usual >= (1 + LEAST) * before[first] else None


def _guesses(values: Floats) -> int | None:
    """Return the last place before points that moved no more, far above all others; else None."""
    usual = values[-1]
    apart = np.flatnonzero(np.abs(values - usual) > STILL * abs(usual))
    begin = int(apart[-1]) + 1 if len(apart) else 0
    before, level = values[:begin], values[begin:]
    if len(before) < LAST or len(level) < GUESS or not before.min() > 0:
        return None
    moved = np.ptp(before) > 10 * STILL * medians.middle(before)
    return begin - 1 if moved and level.min() > LEFT * before.max() else None
