"""Plateau: the loss no longer falls, although it used to."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import curves, medians
from ..contract import Detector
from ..curves import JobCurve
from ..findings import report
from ..window import Floats, Ints, JobWindow

SHARE, MOST_SHARE = 0.3, 0.7
"""Least and most of the attempt's points that a plateau may hold: less is a pause, and of more
too little is left to say that the loss fell before."""

PLACES = 16
"""Places at which it may have begun."""

BLOCKS = 8
"""Medians of so many blocks make a line; their scatter around it holds noise and slow wander."""

SIGMAS, PROGRESS = 5.0, 3.0
"""Standard errors of the earlier slope, and of progress since, that a plateau is certain by."""

CAUTION = 1.5
"""So many times the standard errors of progress, where a plateau holds fewer than `points`.

A line through eight blocks leaves six degrees of freedom, whatever a block holds: beyond 3 standard
errors are 12 of 1,000 healthy lines, beyond 4.5 two. Few points are looked at in more attempts, and
the wander of a loss is no longer averaged out within a block."""


class PlateauDetector(Detector):
    """Report that the loss has stopped falling for the newest third of an attempt, or longer.

    A loss falls about evenly in the logarithm of steps, ever more slowly. From each of some places
    on, the line through the points after it is compared with the line through those before it, as
    long in the logarithm of steps: a plateau is when even three standard errors of progress more
    would be less than `share` of the earlier slope, and that slope is beyond five of its own. It is
    reported once it has lasted `seconds` and `fewest` points, of fewer than `points` by half as
    many standard errors again; training that is nearly done looks alike, so it is information.

    Parameters
    ----------
    share : share of the earlier slope below which nothing falls any more.
    points, fewest, seconds : how long it has to last; between the two numbers of points more
        standard errors are asked for.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.random.default_rng(7).normal(0.0, 0.02, (1, 1000))
    >>> loss += np.maximum(6.0 - 0.6 * np.log(np.arange(1, 1001)), 2.2)
    >>> window = sketch(np.full((1, 1000), 2.0), hosts=1, planes={"training.loss": loss})
    >>> (flat,) = PlateauDetector().evaluate(window)
    >>> flat.text
    'the loss has not fallen since step 554: 2.2, and 2.22 then'

    Fails where a schedule of the learning rate lets the loss rest before it falls again: that is a
    plateau while it lasts. Needs about half as many steps as the loss fell before.

    References: Kaplan et al. (2020) on loss as a power law of steps.
    """

    name = "plateau"
    kinds = ("job.loss_plateau",)
    cadence_seconds = 60.0
    of_steps = True

    def __init__(
        self, *, share: float = 0.2, points: int = 40, fewest: int = 20, seconds: float = 300.0
    ) -> None:
        self.share = share
        self.points = points
        self.fewest = fewest
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding while the loss stays where it is."""
        loss = window.baselines.loss.curve
        # The memory is thinned to half now and then; the points that it stands for count.
        held = len(loss) * max(int(medians.middle(np.diff(loss.index))), 1) if len(loss) > 1 else 0
        if MOST_SHARE * held < self.fewest:
            return []
        for place in np.linspace(1 - MOST_SHARE, 1 - SHARE, PLACES) * len(loss):
            found = self._since(window, loss, int(place))
            if found is not None:
                return [found]
        return []

    def _since(self, window: JobWindow, loss: JobCurve, place: int) -> Finding | None:
        """Return the plateau that began at a place, None where none did."""
        count, since, first = len(loss) - place, loss.at.item(place), loss.index.item(place)
        reach = int(first**2 / max(loss.index.item(-1), 1))
        begin = int(loss.index.searchsorted(reach))
        if min(count, place - begin) < BLOCKS:
            return None
        if loss.at.item(-1) - since < self.seconds or count < self.fewest:
            return None
        earlier, earlier_error = _line(loss.index[begin:place], loss.value[begin:place])
        caution = CAUTION if count < self.points else 1.0
        if not -earlier > SIGMAS * earlier_error:
            return None
        before, newest = loss.cut(begin, place), loss.cut(place, len(loss))
        slope, error = _line(newest.index, newest.value)
        if not -slope + caution * PROGRESS * error < -earlier * self.share:
            return None
        then, now = (medians.middle(part) for part in np.array_split(newest.value, 4)[::3])
        if now > then + 3 * curves.noise(newest.value):
            return None  # it rises, and that is another finding
        last = _stopped(loss.cut(place - len(before), len(loss)))
        stopped = loss.cut(place - len(before) + last, len(loss))
        since, first = float(stopped.at[0]), int(stopped.index[0])
        still = float(loss.at[max(place - len(before) + last - 1, 0)])
        return report(
            window,
            self.name,
            "job.loss_plateau",
            window.entity,
            onset=(still, since),
            seen=(float(before.at[0]), float(newest.at[-1])),
            magnitude=float(newest.at[-1]) - since,
            score=1.0,
            signal=curves.LOSS,
            observed=now,
            expected=then + earlier * float(np.log(newest.index[-1] / newest.index[0])) / 2,
            text=f"the loss has not fallen since step {first}: {now:.3g}, and {then:.3g} then",
        )


def _stopped(loss: JobCurve) -> int:
    """Return the place after which a level without slope fits best, and a line up to it before."""
    x = np.log(loss.index + 1.0)
    places = np.unique(np.linspace(1, len(x) - 2, min(len(x) - 2, 128)).astype(np.int64))
    return int(places[np.argmax(curves.bends(-x, loss.value, places) ** 2)])


def _line(index: Ints, value: Floats) -> tuple[float, float]:
    """Return the slope over the logarithm of steps and its standard error, of block medians.

    Blocks of one size: the oldest points, fewer than there are blocks, are left out.
    """
    block = len(value) // BLOCKS
    steps = index[-BLOCKS * block :].reshape(BLOCKS, block)  # in order: their middle is the median
    x = np.log((steps[:, (block - 1) // 2] + steps[:, block // 2]) / 2 + 1.0)
    y = np.sort(value[-BLOCKS * block :].reshape(BLOCKS, block), axis=1)
    y = (y[:, (block - 1) // 2] + y[:, block // 2]) / 2
    x -= np.add.reduce(x) / BLOCKS
    width = float(x @ x)
    if width <= 0:
        return 0.0, np.inf
    slope = float(x @ y) / width
    left = y - np.add.reduce(y) / BLOCKS - slope * x
    return slope, float(np.sqrt(left @ left / (BLOCKS - 2) / width))
