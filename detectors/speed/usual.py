"""What is usual for ranks: how much longer each takes than its peers while nothing is wrong."""

from dataclasses import dataclass

import numpy as np

from ..hardware import devices
from ..window import Flags, Floats, JobWindow


@dataclass(frozen=True, slots=True)
class UsualRatios:
    """What is usual for ranks, all [ranks].

    ratio: to peers, early in the attempt; 1 where too few steps are known. known: whether enough
    are. habit: it is a skew as jobs have them, and not a rank slow from the first step on. steps:
    how many all of it was learnt from.
    """

    ratio: Floats
    known: Flags
    habit: Flags
    steps: int


def usual_of(window: JobWindow, count: int) -> UsualRatios:
    """Return what is usual for so many ranks."""
    ratio, known, habit = np.ones(count), np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    held = window.baselines
    size = min(len(held.usual), count)
    known[:size] = np.isfinite(held.usual[:size])
    ratio[:size] = np.where(known[:size], held.usual[:size], 1.0)
    habit[:size] = held.known[:size]
    return UsualRatios(ratio, known, habit, held.habit_steps)


def unlike(window: JobWindow) -> Flags:
    """Return [ranks], whose device is of another model than most; empty where all are alike."""
    kinds, known = devices.models(window, power=False)
    counts = np.bincount(kinds) if known and len(kinds) else np.zeros(0, np.int64)
    return kinds != int(np.argmax(counts)) if (counts > 0).sum() > 1 else np.zeros(0, np.bool_)
