"""Where series go, as arrays: which matrices, which plane and which row."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Ints

IGNORED, PLACED, FORGOTTEN = 0, 1, 2

NODE, LEFT_OUT = -1, -2
"""The attempt of a series that belongs to no job, and of one for which there is no room."""


class HeldPoints(Protocol):
    """Points of placed series that are yet to be written."""

    def flush(self) -> None: ...


class SeriesPlacement:
    """Where every series goes; `placing` finds it out. Arrays are [series]."""

    def __init__(self) -> None:
        self.kind = np.zeros(1024, np.int8)
        self.target = np.full(1024, -1, np.int32)
        self.plane = np.zeros(1024, np.int16)
        self.row = np.zeros(1024, np.int32)
        self.host = np.zeros(1024, np.int32)
        self.attempt = np.full(1024, NODE, np.int32)
        self.by_labels = np.zeros(1024, np.bool_)
        self.count = 0
        self.version = 0
        """Changes whenever a series that has a place may go elsewhere."""
        self.held: HeldPoints | None = None
        """Written before a series that has a place goes elsewhere."""

    @property
    def nbytes(self) -> int:
        """Return how many bytes the arrays take."""
        arrays = (self.kind, self.target, self.plane, self.row, self.host, self.attempt)
        return sum(int(one.nbytes) for one in arrays)

    def remove(self, which: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Forget some of the series, [count]; return their numbers."""
        gone = np.flatnonzero(which & (self.kind[: self.count] != FORGOTTEN)).astype(np.int32)
        self.reopen(gone)
        return gone

    def reopen(self, series: Ints | NDArray[np.int32]) -> None:
        """Have series placed again when they next report."""
        self._leave(series, FORGOTTEN)

    def _leave(self, series: Ints | NDArray[np.int32], kind: int) -> None:
        """Let series have no place any more."""
        if not len(series):
            return
        if self.held is not None:
            self.held.flush()
        self.version += 1
        self.kind[series], self.target[series] = kind, -1

    def _fit(self, count: int) -> None:
        """Make room for so many series; new ones are ignored."""
        while count > len(self.kind):
            for name in ("kind", "target", "plane", "row", "host", "attempt", "by_labels"):
                old = getattr(self, name)
                fill = np.full_like(old, -1 if name in ("target", "attempt") else 0)
                setattr(self, name, np.concatenate((old, fill)))
        self.count = count
