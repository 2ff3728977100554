"""When each host reads, and what had been used up to a moment."""

import numpy as np
from numpy.typing import NDArray

from ..training import SimulatedAttempt

Array = NDArray[np.float64]


def ticks(begin: float, end: float, every: float, phase: float) -> Array:
    """Return the moments of a periodic reading from `begin` (included) to `end` (not)."""
    first = np.ceil((begin - phase) / every) * every + phase
    return np.arange(first, end, every) if first < end else np.empty(0)


def used(edges: Array, totals: Array, at: Array) -> Array:
    """Return a cumulative amount at these moments, linear between the edges of segments."""
    return np.interp(at, edges, totals)


def life(attempt: SimulatedAttempt, rank: int, seconds: float) -> tuple[float, float]:
    """Return when a rank's process starts and ends within the recording."""
    return attempt.born, min(float(attempt.died[rank]), seconds)
