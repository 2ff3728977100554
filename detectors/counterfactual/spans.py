"""Which steps of a window are of an incident, and which were before it."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Flags
from ..baselines import WARM_UP
from ..window import JobWindow

MOST, MOST_BEFORE = 64, 256
"""The newest steps since an onset that are looked at, and those before it."""

MOST_VALUES = 2_000_000
"""Ranks times steps that are looked at; of larger jobs fewer steps."""

FEWEST = 5
"""Steps since an onset without which nothing is compared."""

GUARD = 2
"""Steps before an onset that may belong to it: onsets are dated to the step, not always right."""


@dataclass(frozen=True, slots=True)
class StepSpans:
    """Columns of the complete steps: those since an onset, and those before it."""

    now: slice
    before: slice


def spans_of(window: JobWindow, onset: float) -> StepSpans | None:
    """Return the steps since an onset (s since the epoch) and before it; None: too few since."""
    features = window.features
    ends, duration = features.step_ends, features.duration
    if len(ends) < FEWEST:
        return None
    # An onset is dated to a step: the one of which the larger part is after it counts.
    begun: Flags = ends - np.nan_to_num(duration) / 2 >= onset
    if not begun.any():
        return None
    first, last = int(np.argmax(begun)), len(ends)
    most = max(min(MOST, MOST_VALUES // max(len(window.ranks), 1)), 2 * FEWEST)
    now = slice(max(first, last - most), last)
    if now.stop - now.start < FEWEST or np.isfinite(duration[now]).sum() < FEWEST:
        return None
    until = max(first - GUARD, 0)
    begin = min(max(WARM_UP, until - min(MOST_BEFORE, 2 * most)), until)
    return StepSpans(now, slice(begin, until))
