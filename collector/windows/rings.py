"""Periodic readings of every series in one pair of matrices: a ring a row, no order needed.

One append a batch, whatever the mix of series: rows, times and values go in as arrays.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

SLOTS = 192
"""Readings kept a series: 16 minutes at the contract's 5 s."""


class Rings:
    """A growing table of rings; `at` and `value` are [rows, slots], NaN where nothing is."""

    def __init__(self, slots: int = SLOTS) -> None:
        self.at = np.full((256, slots), np.nan)
        self.value = np.full((256, slots), np.nan)
        self.written = np.zeros(256, np.int64)
        self.last_at = np.full(256, -np.inf)
        self.last_value = np.full(256, np.nan)
        self.changed_at = np.full(256, -np.inf)
        self.last_received = np.full(256, -np.inf)
        self.rows = 0
        self._free: list[int] = []

    def add(self) -> int:
        """Return the number of a new, empty row."""
        if self._free:
            return self._free.pop()
        if self.rows == len(self.written):
            self._grow()
        self.rows += 1
        return self.rows - 1

    def release(self, rows: list[int]) -> None:
        """Empty rows that nobody will write to again, for others to use."""
        if not rows:
            return
        self.at[rows] = np.nan
        self.value[rows] = np.nan
        self.written[rows] = 0
        self.last_at[rows] = -np.inf
        self.last_value[rows] = np.nan
        self.changed_at[rows] = -np.inf
        self.last_received[rows] = -np.inf
        self._free.extend(rows)

    def append(
        self,
        rows: NDArray[np.int64],
        at: NDArray[np.float64],
        value: NDArray[np.float64],
        now: float,
    ) -> None:
        """Write readings, all [points]; a row may stand in `rows` more than once."""
        if not len(rows):
            return
        order = np.lexsort((at, rows))
        rows, at, value = rows[order], at[order], value[order]
        first = np.concatenate(([True], rows[1:] != rows[:-1]))
        starts = np.flatnonzero(first)
        within = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
        slots = (self.written[rows] + within) % self.at.shape[1]
        self.at[rows, slots] = at
        self.value[rows, slots] = value
        ends = np.append(starts[1:], len(rows)) - 1
        touched = rows[ends]
        self.written[touched] += ends - starts + 1
        self.last_received[touched] = now
        newer = at[ends] > self.last_at[touched]
        touched, newest = touched[newer], ends[newer]
        moved = value[newest] != self.last_value[touched]
        self.changed_at[touched[moved]] = at[newest][moved]
        self.last_at[touched] = at[newest]
        self.last_value[touched] = value[newest]

    def _grow(self) -> None:
        def doubled(old: NDArray[Any], fill: float) -> NDArray[Any]:
            return np.concatenate((old, np.full_like(old, fill)))

        self.at, self.value = doubled(self.at, np.nan), doubled(self.value, np.nan)
        self.written = doubled(self.written, 0)
        self.last_at = doubled(self.last_at, -np.inf)
        self.last_value = doubled(self.last_value, np.nan)
        self.changed_at = doubled(self.changed_at, -np.inf)
        self.last_received = doubled(self.last_received, -np.inf)
