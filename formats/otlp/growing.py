"""An array that grows at its end while another thread reads what it already holds."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Growing:
    """Whole numbers by position. One thread appends; others index `held` by positions they know.

    Room is made by copying into a larger array, so an array that a reader took stays valid, and
    what stands below a position that was given out never changes.
    """

    def __init__(self, kind: DTypeLike, *first: int) -> None:
        self.held: NDArray[Any] = np.zeros(max(1024, len(first)), kind)
        self.held[: len(first)] = first
        self._count = len(first)

    def __len__(self) -> int:
        return self._count

    def append(self, value: int) -> None:
        self._room(1)
        self.held[self._count] = value
        self._count += 1

    def extend(self, values: NDArray[Any]) -> None:
        """Add numbers, in order."""
        self._room(len(values))
        self.held[self._count : self._count + len(values)] = values
        self._count += len(values)

    def _room(self, more: int) -> None:
        if self._count + more > len(self.held):
            larger = np.zeros(max(2 * len(self.held), self._count + more), self.held.dtype)
            larger[: self._count] = self.held[: self._count]
            self.held = larger
