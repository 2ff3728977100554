"""Plateau: the loss no longer falls, although it used to."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import curves, own_time
from ..contract import Detector
from ..findings import report
from ..window import Floats, Ints, JobWindow

SHARE = 0.3
"""Share of the attempt's points that is looked at, and of those before that it is compared with."""

BLOCKS = 12
"""Medians of so many blocks make a line; their scatter around it holds noise and slow wander."""


class Plateau(Detector):
    """Report that the loss has stopped falling for the newest third of an attempt.

    A loss falls about evenly in the logarithm of steps, ever more slowly. The line through the
    newest 30 % of the attempt's points is compared with the line through the 30 % before: a
    plateau is when even three standard errors of progress more would be less than `share` of the
    earlier slope, and that slope is beyond five of its own. It says so once it has lasted `seconds`
    and `points`; training that is nearly done looks alike, so it is information.

    Parameters
    ----------
    share : share of the earlier slope below which nothing falls any more.
    points, seconds : how long it has to last.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.random.default_rng(7).normal(0.0, 0.02, (1, 1000))
    >>> loss += np.maximum(6.0 - 0.6 * np.log(np.arange(1, 1001)), 2.2)
    >>> window = sketch(np.full((1, 1000), 2.0), hosts=1, planes={"training.loss": loss})
    >>> (flat,) = Plateau().evaluate(window)
    >>> flat.text
    'the loss has not fallen since step 700: 2.2, and 2.2 then'

    Fails where a schedule of the learning rate lets the loss rest before it falls again: that is a
    plateau while it lasts. Needs about three times as many steps as the loss fell before.

    References: Kaplan et al. (2020) on loss as a power law of steps; facts on training signals.
    """

    name = "plateau"
    kinds = ("job.loss_plateau",)
    cadence_seconds = 30.0

    def __init__(self, *, share: float = 0.2, points: int = 200, seconds: float = 600.0) -> None:
        self.share = share
        self.points = points
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding while the loss stays where it is."""
        loss = window.baselines.loss.curve
        count = int(SHARE * len(loss))
        # The memory is thinned to half now and then; the points that it stands for count.
        held = len(loss) * max(int(own_time.middle(np.diff(loss.index))), 1) if len(loss) > 1 else 0
        if count < 4 * BLOCKS or SHARE * held < self.points:
            return []
        newest, before = loss.last(count), loss.cut(len(loss) - 2 * count, len(loss) - count)
        since = float(newest.at[0])
        if float(newest.at[-1]) - since < self.seconds:
            return []
        slope, error = _line(newest.index, newest.value)
        earlier, earlier_error = _line(before.index, before.value)
        if not -earlier > 5 * earlier_error or not -slope + 3 * error < -earlier * self.share:
            return []
        then, now = (own_time.middle(part) for part in np.array_split(newest.value, 4)[::3])
        if now > then + 3 * curves.noise(newest.value):
            return []  # it rises, and that is another finding
        return [
            report(
                window,
                self.name,
                "job.loss_plateau",
                window.entity,
                onset=(float(before.at[-1]), since),
                seen=(float(before.at[0]), float(newest.at[-1])),
                magnitude=float(newest.at[-1]) - since,
                score=1.0,
                signal=curves.LOSS,
                observed=now,
                expected=then + earlier * float(np.log(newest.index[-1] / newest.index[0])) / 2,
                text=f"the loss has not fallen since step {int(newest.index[0])}: {now:.3g}, and "
                f"{then:.3g} then",
            )
        ]


def _line(index: Ints, value: Floats) -> tuple[float, float]:
    """Return the slope over the logarithm of steps and its standard error, of block medians."""
    x = np.array([np.log(own_time.middle(part) + 1.0) for part in np.array_split(index, BLOCKS)])
    y = np.array([own_time.middle(part) for part in np.array_split(value, BLOCKS)])
    x -= x.mean()
    width = float(x @ x)
    if width <= 0:
        return 0.0, np.inf
    slope = float(x @ y) / width
    left = y - y.mean() - slope * x
    return slope, float(np.sqrt(left @ left / (BLOCKS - 2) / width))
