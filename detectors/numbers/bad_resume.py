"""Bad resume: training goes on from a checkpoint, and the loss is not where it was there."""

import math
from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import curves, medians
from ..contract import Detector
from ..curves import JobCurve
from ..findings import report
from ..window import Floats, Ints, JobWindow
from . import resumed_data

BEFORE = 32
"""Points before the resumed step that say where the loss stood."""

FEWEST_BEFORE, LINE = 8, 16
"""Points before it without which nothing is said, and the newest of them that make a line."""

FEW, FEW_LEAST, FEW_RANGES = 5, 0.2, 2.0
"""Of fewer points than this before it a noise is not known: the rise has to be such a share of the
level, and so many times what lies between the highest of them and the lowest."""

SIGMAS, EACH_SIGMAS = 8.0, 3.0
"""Standard errors by which the median of the first points stands above, and standard deviations by
which each of them does."""

MANY_LOW = 25
"""Per cent of sixteen points that may lie lower than that."""

LATE, PAUSE = 16, 5.0
"""Among so many first points some may still be of the processes before: a pause of so many usual
steps is the restart."""

BEGINS = 5
"""Steps, or reports of many, from which on a training goes on and does not begin."""

PASSING = 0.5
"""A rise that has fallen to this share of itself within the first points passes by itself."""


class BadResumeDetector(Detector):
    """Report that the first losses after a restart lie well above the loss at the same step before.

    The curve of the attempt before this one (or of the steps that this one went back behind) is
    held in `window.baselines.loss.earlier`; where the job's own log says that it resumed, all
    before that is of before. Its points before the first step that is reported now say where the
    checkpoint stood: their median, or where the line through the newest of them ends, as a loss
    that falls steeply is lower there; and no lower than what the same steps had before, where they
    are repeated. Each of the first points has to be above it, less what the line falls by
    meanwhile, by `least` of it and by three standard deviations, and their median by eight times
    the standard error of both medians. What a noisy loss leaves open in the first points, sixteen
    of them decide, three quarters of which have to be. A rise that halves within fewer points is a
    spike that passes: then all of them are waited for. Where fewer than five points are before it,
    each of the first ones has to be a fifth above their median, and by twice what they lie apart;
    where too few to compare with are, those of the steps that are repeated say where the loss
    stood: they are of the same weights and data. The plane has to be the same: a loss of another
    scope has another noise, and perhaps another unit. Below `severe` nobody is paged.

    Parameters
    ----------
    least : smallest rise, as a share of the level.
    severe : rise from which on it is certain.
    points : points after the resume that are compared; two are enough to speak.
    keep : points for which a resume that has recovered is reported.
    fewest : points before the resumed step without which nothing is said.
    of_log : the losses are those of a log, which may be of other data since, or means begun anew.

    Examples
    --------
    The attempt before stood at 2.0 when step 100 was saved; this one begins there with 5.

    >>> from rankscope.detectors.baselines import JobBaselines
    >>> from rankscope.detectors.sketch import sketch
    >>> rng, held = np.random.default_rng(7), JobBaselines()
    >>> def attempt(first, loss):
    ...     planes = {"training.loss": loss[None, :]}
    ...     return sketch(np.full((1, len(loss)), 0.8), hosts=1, planes=planes, first=first,
    ...                   gaps={0: 10.0 * first}, held_baselines=held)
    >>> before = JobBaselines()
    >>> before.record(attempt(0, rng.normal(2.0, 0.02, 120)).features)
    >>> held.follow(before)
    >>> (bad,) = BadResumeDetector().evaluate(attempt(100, rng.normal(5.0, 0.02, 6)))
    >>> bad.text
    'training resumed at step 100 with a loss of 4.99; there it had been 1.99'

    Fails where step indices begin at zero after a restart that no log speaks of, and where the
    collector has not seen the attempt before. Cannot see whether weights, optimizer or data
    position were lost.

    References: OPT logbook (2022); Llama 3 (2024) 3.3 on restarts.
    """

    name = "bad_resume"
    kinds = ("job.loss_high_after_resume",)
    of_steps = True

    def __init__(
        self,
        *,
        least: float = 0.04,
        severe: float = 0.1,
        points: int = 5,
        keep: int = 100,
        fewest: int = FEWEST_BEFORE,
        of_log: bool = False,
    ) -> None:
        self.least = least
        self.severe = severe
        self.points = points
        self.fewest = fewest
        self.keep = keep
        self.of_log = of_log

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding while the resume is recent or has not recovered."""
        now = window.features.whole_loss
        for earlier in (window.baselines.loss.earlier, _until_said(window, now)):
            if len(earlier) and len(now) >= 2 and earlier.plane == now.plane:
                found = self._compared(window, earlier, now)
                if found:
                    return found
        return []

    def _compared(self, window: JobWindow, earlier: JobCurve, now: JobCurve) -> list[Finding]:
        now = now.cut(int(np.searchsorted(now.at, earlier.at[-1], side="right")), len(now))
        now = now.cut(_resumed(now), len(now))
        if len(now) < 2:
            return []
        before = earlier.until(int(now.index[0])).last(BEFORE)
        if len(before) < self.fewest:
            before = _repeated(earlier, now)
        if len(before) < self.fewest:
            return []
        if self.of_log and resumed_data.other(window, before, now, again=self._again(earlier, now)):
            return []
        for points in (self.points, max(self.points, LINE)):
            if points == self.points or len(now) >= points:
                found = self._risen(window, earlier, before, now, points)
                if found and points > self.points and resumed_data.warms(window, float(now.at[0])):
                    return []
                if found:
                    return found
        return []

    def _again(self, earlier: JobCurve, now: JobCurve) -> bool:
        """Tell whether the first steps are known from before: they are of the same data."""
        return _same_steps(earlier, now.index[: self.points]) > -math.inf

    def _risen(
        self, window: JobWindow, earlier: JobCurve, before: JobCurve, now: JobCurve, points: int
    ) -> list[Finding]:
        """Return the finding if so many of the first points lie well above those before."""
        (level, slope), first = _stood(before), now.value[:points]
        level = max(level, _same_steps(earlier, now.index[:points]))
        seen = medians.middle(first)
        first = first - slope * np.arange(len(first))
        sigma = curves.noise(before.value)
        # Of few points: medians of more of them say more than each point does.
        error = medians.OF_MEDIAN * sigma * math.sqrt(1 / len(first) + 1 / min(len(before), LINE))
        least = self.least * abs(level)
        if len(before) < FEW:
            if len(now) < self.fewest:
                return []
            least = max(FEW_LEAST * abs(level), FEW_RANGES * float(np.ptp(before.value)), least)
        limit = max(least, SIGMAS * error)
        newest = medians.middle(now.value[-self.points :])
        # Of a few points each; of many some lie low by noise alone.
        lowest = np.percentile(first, 0 if points == self.points else MANY_LOW)
        if not lowest > level + max(least, EACH_SIGMAS * sigma):
            return []
        if not medians.middle(first) > level + limit:
            return []
        if len(first) < points and first[-1] - level < PASSING * (first[0] - level):
            return []  # a spike that passes, as at any other step
        if len(now) > self.keep and newest < level + limit:
            return []
        return [
            report(
                window,
                self.name,
                "job.loss_high_after_resume",
                window.entity,
                onset=float(now.at[0]),
                seen=(float(now.at[0]), float(now.at[-1])),
                magnitude=seen - level,
                score=min(1.0 + (seen - level) / max(limit, self.severe * abs(level)), 4.0),
                signal=curves.LOSS,
                observed=seen,
                expected=level,
                text=f"training resumed at step {int(now.index[0])} with a loss of {seen:.3g}; "
                f"there it had been {level:.3g}",
            )
        ]


def _until_said(window: JobWindow, loss: JobCurve) -> JobCurve:
    """Return the points before the job said that it resumed, none where it did not."""
    said = [event.at for event in window.events if event.name == "training.resumed"]
    if not said or not len(loss):
        return curves.NOTHING
    # Several ranks say so, one after the other, and again at each later restart.
    reached = [at for at in said if loss.at[0] < at <= loss.at[-1]]
    if not reached:
        return curves.NOTHING
    return loss.cut(0, int(np.searchsorted(loss.at, max(reached))))


def _stood(before: JobCurve) -> tuple[float, float]:
    """Return where the loss stood at the end of these points, and its fall from point to point.

    A curve that flattens lies above the line through all of them: its newest half says more then.
    Three points make no line.
    """
    newest = before.last(LINE).value
    if len(newest) < 4:
        return medians.middle(newest), 0.0
    end, slope = max(_line(newest), _line(newest[-(len(newest) // 2) :]))
    middle = medians.middle(before.value)
    return (end, min(slope, 0.0)) if end < middle else (middle, 0.0)


def _line(newest: Floats) -> tuple[float, float]:
    """Return where a line through the points ends, one point after them, and its slope a point."""
    places = np.arange(len(newest)) - len(newest)
    half = len(newest) // 2
    slope = medians.middle(newest[-half:] - newest[-2 * half : -half]) / half
    return medians.middle(newest - slope * places), slope


def _same_steps(earlier: JobCurve, index: Ints) -> float:
    """Return the median loss that these steps had before, -inf where they had not been reached."""
    known = (index >= earlier.index[0]) & (index <= earlier.index[-1])
    if not known.any():
        return -math.inf
    return medians.middle(np.interp(index[known], earlier.index, earlier.value))


def _repeated(earlier: JobCurve, now: JobCurve) -> JobCurve:
    """Return the first points that the steps had before which are made again.

    None of the first ones of a training: those are of weights that were drawn anew.
    """
    if now.index[0] <= BEGINS * max(medians.middle(np.diff(now.index)), 1):
        return curves.NOTHING
    first, last = np.searchsorted(earlier.index, (now.index[0], now.index[-1] + 1))
    return earlier.cut(int(first), min(int(last), int(first) + BEFORE))


def _resumed(now: JobCurve) -> int:
    """Return the first point after the restart, where late reports of before were taken along."""
    between = np.diff(now.at)
    early = between[:LATE]
    if len(early) < FEWEST_BEFORE // 2 or not early.max() > PAUSE * medians.middle(between):
        return 0
    return int(np.argmax(early)) + 1
