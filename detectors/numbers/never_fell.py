"""A loss that never fell, in the log of a job that is over."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.log_lines import LOSSES_STAND
from ...vocabulary.samples import Event
from .. import curves, medians
from ..ended_jobs import EndedJobDetector
from ..findings import report
from ..tenants import lines_of, text_of
from ..window import JobWindow

FEWEST = 20
"""Points of a loss that say that it does not fall."""

BEGINS = 5
"""The first of them is one of so many first steps or epochs, or reports: where a log begins later,
a loss may have fallen already."""

SPREAD = 0.01
"""Share of the loss within which nine of ten points lie."""

LATE, LATE_SPREAD = 4.0, 0.05
"""Where a log begins later: how many times as many steps its last point has as its first, and the
share within which nine of ten points lie. A loss falls about evenly in the logarithm of steps."""

SAME, DIGITS = 10, 4
"""So many points of one number with so many digits: the loss of a batch of data is no other's."""


class NeverFellDetector(EndedJobDetector):
    """Find a loss that stays at its first value from the start to the end of a log.

    Or, in a log that begins later, over four times as many steps as were made until then.
    Wherever a log begins, one that is the same number at every point, or has become so for as long
    as it was none, is computed from no data, or by a model whose output has died. A loss of exactly
    0 is none of these: methods that learn from their own samples begin with it. Of two networks
    that play against each other one of 0 beside one that stands is, where rows name both losses.

    In no list of detectors: of a live job each hour more may tell another thing, and its plateau
    is looked for after a fall. Of a job that is over its log is all there is.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.random.default_rng(7).normal(2.303, 0.002, (1, 40))
    >>> window = sketch(np.full((1, 40), 2.0), hosts=1, planes={"training.loss": loss})
    >>> (flat,) = NeverFellDetector(over=0.0).evaluate(window)
    >>> flat.text
    'the loss is 2.3 from step 0 to step 39: it never fell'

    Fails where the loss of an untrained model is small or noisy, and for a log that begins later.
    Takes a game that two networks play without a winner for one.

    Reference: the loss of a guess among K classes is ln K, that of a model that learns is less
    within its first epochs.
    """

    name = "never_fell"
    kinds = ("job.loss_plateau",)

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return at most one finding, on the job."""
        if said := lines_of(window, LOSSES_STAND):
            return [self._said(window, said[0])]
        loss = window.baselines.loss.curve
        begin = 0 if _flat(loss) else _same(loss)
        late = begin is None and _late(loss)
        begin = 0 if late else begin
        if begin is None:
            return []
        usual = medians.middle(loss.value[begin:])
        first, last = int(loss.index[begin]), int(loss.index[-1])
        how = "never fell" if begin == 0 else "is the same at each"
        how = "does not fall" if late else how
        return [
            report(
                window,
                self.name,
                "job.loss_plateau",
                window.entity,
                onset=float(loss.at[begin]),
                seen=(float(loss.at[begin]), float(loss.at[-1])),
                magnitude=float(loss.at[-1] - loss.at[begin]),
                score=2.0,
                signal=curves.LOSS,
                observed=usual,
                expected=None,
                text=f"the loss is {usual:.3g} from step {first} to step {last}: it {how}",
            )
        ]

    def _said(self, window: JobWindow, line: Event) -> Finding:
        return report(
            window,
            self.name,
            "job.loss_plateau",
            window.entity,
            onset=line.at,
            seen=(line.at, line.at),
            score=2.0,
            signal=curves.LOSS,
            observed=LOSSES_STAND,
            text=text_of(line),
        )


def _flat(loss: curves.JobCurve) -> bool:
    """Tell whether a curve that begins with its training stays where it began."""
    if len(loss) < FEWEST or not _begins(loss):
        return False
    return _level(loss, SPREAD)


def _late(loss: curves.JobCurve) -> bool:
    """Tell whether a curve that begins later stays where it is over most of its training."""
    if len(loss) < FEWEST or loss.index[-1] < LATE * max(int(loss.index[0]), 1):
        return False
    return _level(loss, LATE_SPREAD)


def _begins(loss: curves.JobCurve) -> bool:
    """Tell whether a curve begins with its training, counted in steps or in reports of many."""
    first, every = int(loss.index[0]), medians.middle(np.diff(loss.index[:FEWEST]))
    return first <= BEGINS * max(every, 1)


def _level(loss: curves.JobCurve, spread: float) -> bool:
    """Tell whether a curve ends where it began, and nine of ten points lie within a share of it."""
    usual = medians.middle(loss.value)
    low, high = np.quantile(loss.value, [0.05, 0.95])
    parts = np.array_split(loss.value, 4)
    fell = medians.middle(parts[0]) - medians.middle(parts[-1])
    return usual > 0 and high - low <= spread * usual and fell <= SPREAD / 2 * usual


def _same(loss: curves.JobCurve) -> int | None:
    """Return since which place all points of a curve are one number that is no round one, or None.

    Those are as many as the points before, at least.
    """
    if len(loss) < SAME:
        return None
    other = np.flatnonzero(loss.value != loss.value[-1])
    begin = int(other[-1]) + 1 if len(other) else 0
    if len(loss) - begin < max(SAME, begin):
        return None
    digits, _, _ = f"{float(loss.value[-1]):e}".partition("e")
    return begin if len(digits.lstrip("-").replace(".", "").rstrip("0")) >= DIGITS else None
