"""How much of each step is wait for data, by reports of both: of single steps, or of many."""

from dataclasses import dataclass

import numpy as np

from .. import compute_time, medians
from ..features import DATA
from ..window import StepValues

LEAST, MOSTLY = 0.5, 0.7
"""Share of a step that the wait must be, and share of the reports that must say so."""

REPORTS, STEPS, SECONDS = 5, 20, 60.0
"""Fewest reports, and the steps and seconds that they must span."""

WARM_UP = 5
"""Steps at the start whose waits are those for workers that start."""

STAYS = 0.8
"""A mean that still falls to less than this share of its middle is that of a slow start."""


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


def reported(steps: StepValues) -> JobWait | None:
    """Return the wait where it is most of the newest steps, None where it is not.

    Only steps of which both are reported count, and only where the step contains its wait.
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
    span = max(STEPS, SECONDS / medians.middle(took[-STEPS:]))
    newest = int(np.searchsorted(index, index[-1] - span, side="right")) - 1
    first = min(newest, len(places) - REPORTS)
    if first < 0:
        return None
    wait, took = wait[first:], took[first:]
    share = wait / took
    middle = medians.middle(wait)
    if float((share >= LEAST).mean()) < MOSTLY or float(wait.sum()) < LEAST * float(took.sum()):
        return None
    if wait[-1] < STAYS * middle:
        return None
    return JobWait(float(wait.mean()), float(took.mean()), 0.0, float(ends[first]), float(ends[-1]))
