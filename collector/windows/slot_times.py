"""When the readings of some slots were taken: worked out once for all planes of one report.

What a host reads at one time lies in the same slots of many planes, with the same part of a slot.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...detectors.arrays import Flags, Floats, Ints
from ...detectors.readings import PeriodicReadings

PARTS = 250
"""Parts that a slot's time is resolved to: 20 ms of 5 s."""

MOST_SHARED = 4096
"""Of more cells than these it costs more to find the same times than to work them out again."""


def part_of(at: float, tick: int, interval: float) -> int:
    """Return how a time within a slot is kept: 0 is no reading."""
    return round((at / interval - tick) * PARTS) + 1


class SlotMoments(dict[float, tuple[int, int]]):
    """One time in slots: by how long these are, its slot and how it is kept there (`part_of`)."""

    def __init__(self, at: float) -> None:
        super().__init__()
        self._at = at

    def __missing__(self, interval: float) -> tuple[int, int]:
        tick = math.floor(self._at / interval)
        found = self[interval] = tick, part_of(self._at, tick, interval)
        return found


def times(
    ticks: Ints, part: NDArray[np.uint8], interval: float, start: float, end: float
) -> tuple[Floats, Flags | None]:
    """Return the times of [slots, rows], and where there is no reading of [start, end].

    ticks: [slots]. Times are NaN where there is none; the second is None where that is nowhere.
    Not to be changed: others are given the same.
    """
    if part.size > MOST_SHARED:
        return _times(ticks, part, interval, start, end)
    return _shared(ticks.tobytes(), part.tobytes(), part.shape, interval, start, end)


def period(ticks: Ints, part: NDArray[np.uint8], interval: float, start: float) -> float:
    """Return the usual time between readings of [slots, rows], from `start` on."""
    if part.size > MOST_SHARED:
        at = _times(ticks, part, interval, start, np.inf)[0].T
        return PeriodicReadings(at, at).period()
    return _shared_period(ticks.tobytes(), part.tobytes(), part.shape, interval, start)


@lru_cache(maxsize=256)
def _shared_period(
    ticks: bytes, part: bytes, shape: tuple[int, ...], interval: float, start: float
) -> float:
    at = _shared(ticks, part, shape, interval, start, np.inf)[0].T
    return PeriodicReadings(at, at).period()


@lru_cache(maxsize=256)
def _shared(
    ticks: bytes, part: bytes, shape: tuple[int, ...], interval: float, start: float, end: float
) -> tuple[Floats, Flags | None]:
    found = _times(
        np.frombuffer(ticks, np.int64),
        np.frombuffer(part, np.uint8).reshape(shape),
        interval,
        start,
        end,
    )
    for array in found:
        if array is not None:
            array.flags.writeable = False
    return found


def _times(
    ticks: Ints, part: NDArray[np.uint8], interval: float, start: float, end: float
) -> tuple[Floats, Flags | None]:
    at: NDArray[Any] = part - 1.0
    at *= interval / PARTS
    at += ticks[:, None] * interval
    missing = part == 0
    if start > -np.inf:
        missing |= at < start
    if end < np.inf:
        missing |= at > end
    if not missing.any():
        return at, None
    np.putmask(at, missing, np.nan)
    return at, missing
