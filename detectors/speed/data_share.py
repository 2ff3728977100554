"""How much of each step is wait for data, by reports of both: of single steps, or of many."""

from dataclasses import dataclass

import numpy as np

from .. import compute_time, medians
from ..features import DATA
from ..window import Floats, Ints, StepValues

LEAST, MOSTLY = 0.5, 0.7
"""Share of a step that the wait must be, and share of the reports that must say so."""

REPORTS, STEPS, SECONDS = 5, 20, 60.0
"""Fewest reports, and the steps and seconds that they must span."""

WARM_UP = 5
"""Steps at the start whose waits are those for workers that start."""

STAYS = 0.8
"""A mean that still falls to less than this share of its middle is that of a slow start."""


WAITS, EVERY_STEP, MOST_STEPS = 3, 8, 64
"""Where the end of a log has so many steps, one after the other, so many of them have to wait: what
is between them is what workers had ready. Of longer logs the newest so many count."""


@dataclass(frozen=True, slots=True)
class JobWait:
    """What the job waits for data in a step, of how much, what is usual, all seconds; from, until.

    little: it is less than anybody would be paged for.
    """

    seen: float
    step: float
    usual: float
    begin: float
    end: float
    little: bool = False

    @property
    def lost(self) -> float:
        """Return the seconds a step that the job would gain."""
        return min(self.seen - self.usual, 0.95 * self.step)


def reported(steps: StepValues, *, over: bool = False) -> JobWait | None:
    """Return the wait where it is most of the newest steps, None where it is not.

    Only steps of which both are reported count, and only where the step contains its wait. over: no
    step comes any more, and waits that come again and again are enough, in fewer steps.
    """
    if not (steps.has(DATA) and steps.has(compute_time.STEP)):
        return None
    wait = medians.median(steps.plane(DATA), axis=0)
    took = medians.median(steps.plane(compute_time.STEP), axis=0)
    ends = compute_time.step_ends(steps)
    with np.errstate(invalid="ignore"):
        both = (wait >= 0) & (took > 0) & (wait <= took) & (took < compute_time.MOST)
    both &= np.isfinite(ends) & (steps.index > steps.index[0] + WARM_UP)
    places = np.flatnonzero(both)
    if len(places) < REPORTS:
        return None
    index, ends, wait, took = steps.index[places], ends[places], wait[places], took[places]
    first = _mostly(index, wait, took)
    if first is None and over:
        first = _again(index, wait, took)
    if first is None:
        return None
    seen, step = float(wait[first:].mean()), float(took[first:].mean())
    return JobWait(seen, step, 0.0, float(ends[first]), float(ends[-1]))


def _mostly(index: Ints, wait: Floats, took: Floats) -> int | None:
    """Return the first of the newest reports of which most are mostly wait, None where none is."""
    span = max(STEPS, SECONDS / medians.middle(took[-STEPS:]))
    newest = int(np.searchsorted(index, index[-1] - span, side="right")) - 1
    first = min(newest, len(index) - REPORTS)
    if first < 0:
        return None
    wait, took = wait[first:], took[first:]
    if float((wait >= LEAST * took).mean()) < MOSTLY or not _enough(wait, took):
        return None
    return first if wait[-1] >= STAYS * medians.middle(wait) else None


def _again(index: Ints, wait: Floats, took: Floats) -> int | None:
    """Return the first of the newest steps in a row that wait for most of their time all together.

    In their older half and in the newer one, and without the longest wait, which may be of a pause.
    """
    apart = np.flatnonzero(np.diff(index) != 1)
    first = max(int(apart[-1]) + 1 if len(apart) else 0, len(index) - MOST_STEPS)
    wait, took = wait[first:], took[first:]
    if len(wait) < EVERY_STEP or float(took.sum()) < SECONDS:
        return None
    rest = np.arange(len(wait)) != int(np.argmax(wait))
    half = len(wait) // 2
    parts = (rest, slice(0, half), slice(half, None))
    lasts = all(_enough(wait[part], took[part]) for part in parts)
    return first if lasts and int((wait >= LEAST * took).sum()) >= WAITS else None


def _enough(wait: Floats, took: Floats) -> bool:
    return float(wait.sum()) >= LEAST * float(took.sum())
