"""Batches that are written to the matrices together, when somebody next reads them.

What hosts send within a second is written as one: the cost of a write hardly depends on how many
points it has. Batches are held only as long as no series is in two of them, so that it makes no
difference to what is written how many were written together.
"""

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints

MOST_POINTS = 1 << 17
"""Points that are held at most."""

Part = tuple[NDArray[np.int32], Floats, Floats, float]
"""Series, times and values, all [points], and when they were received."""


class PendingPoints:
    """Points that are yet to be written, in the order in which they were received."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._held = np.zeros(0, np.bool_)
        """[series], whether a point of it is among them."""
        self._points = 0

    def __bool__(self) -> bool:
        """Tell whether anything is held."""
        return bool(self._parts)

    def takes(self, series: NDArray[np.int32], count: int) -> bool:
        """Tell whether points of these series may be held beside the others.

        count: series that there are.
        """
        if len(self._held) < count:
            self._held = np.concatenate((self._held, np.zeros(count, np.bool_)))
        return self._points < MOST_POINTS and not self._held[series].any()

    def add(self, part: Part) -> None:
        self._parts.append(part)
        self._held[part[0]] = True
        self._points += len(part[0])

    def take(self) -> list[Part]:
        """Return the points that are held, and hold none of them any longer."""
        parts, self._parts, self._points = self._parts, [], 0
        for series, *_ in parts:
            self._held[series] = False
        return parts


def joined(parts: list[Part]) -> tuple[NDArray[np.int32], Floats, Floats, Ints, Floats]:
    """Return series, times, values, the number of the part and when it was received, [points]."""
    sizes = [len(series) for series, *_ in parts]
    return (
        np.concatenate([series for series, *_ in parts]),
        np.concatenate([at for _, at, _, _ in parts]),
        np.concatenate([value for _, _, value, _ in parts]),
        np.repeat(np.arange(len(parts)), sizes),
        np.repeat(np.array([now for *_, now in parts]), sizes),
    )
