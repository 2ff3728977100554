"""Readings of one metric as they are held: a matrix [slots, rows], a slot an interval of its ring.

Float32 values and the time within the slot in one byte: five bytes a reading, for as long as the
fine tier lasts, and means over longer slots beyond it. Counters are kept as differences to what a
row began with, so that a large counter's growth is not rounded away.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints
from .columns import longer
from .slot_times import period, times

THIN_SECONDS, THIN_SLOTS = 900.0, 48
"""Beyond the fine tier: twelve hours of means over 15 minutes (a counter's last value)."""

FIRST_INTERVAL, FIRST_SLOTS = 1.0, 128
"""Until the reporting interval is known."""

CELLS_AT_ONCE = 1 << 20
"""Readings that are looked at at once where all that is held is."""

NOBODY = 127
"""The source of a row that nobody reports; see attributes.SOURCES for the others."""


class PlaneData:
    """What a plane holds, and how it is read; `planes.Plane` writes it."""

    def __init__(self, name: str, *, counter: bool, tracked: bool = False) -> None:
        self.name = name
        self.counter = counter
        self.interval = FIRST_INTERVAL
        self.newest = -1
        self.value = np.zeros((FIRST_SLOTS, 0), np.float32)
        self.part = np.zeros((FIRST_SLOTS, 0), np.uint8)
        self.used = np.zeros(FIRST_SLOTS, np.bool_)
        self.thin = np.zeros((THIN_SLOTS, 0), np.float32)
        self.thin_at = np.full(THIN_SLOTS, np.nan)
        self.last_at = np.zeros(0)
        self.last_value = np.zeros(0)
        self.changed_at = np.zeros(0) if tracked else None
        self.base = np.zeros(0) if counter else None
        self.source = np.zeros(0, np.int8)
        self.writer = np.zeros(0, np.int32)
        self.version = 0
        """Moves with every change of what can be read."""
        self.claims = 0
        """Moves when rows get another source."""

    @property
    def nbytes(self) -> int:
        """Return how many bytes it takes once every slot was written to."""
        parts: list[NDArray[Any] | None] = [
            *(self.value, self.part, self.thin, self.last_at, self.last_value, self.source),
            *(self.writer, self.changed_at, self.base),
        ]
        return sum(int(part.nbytes) for part in parts if part is not None)

    def fit(self, rows: int) -> None:
        """Make room for so many rows."""
        old = len(self.last_at)
        if rows <= old:
            return
        rows = max(rows, old + min(old, old // 4 + 4096), 16)
        self.version += 1
        self.value, self.part = self._wider(self.value, rows), self._wider(self.part, rows)
        thin = np.zeros((THIN_SLOTS, rows), np.float32)
        for slot in np.flatnonzero(np.isfinite(self.thin_at)):
            thin[slot, :old], thin[slot, old:] = self.thin[slot], np.nan
        self.thin = thin
        self.last_at = longer(self.last_at, rows, -np.inf)
        self.last_value = longer(self.last_value, rows, np.nan)
        self.source = longer(self.source, rows, NOBODY)
        self.writer = longer(self.writer, rows, -1)
        if self.changed_at is not None:
            self.changed_at = longer(self.changed_at, rows, -np.inf)
        if self.base is not None:
            self.base = longer(self.base, rows, np.nan)

    def clear(self, rows: Ints) -> None:
        """Empty rows that others will use."""
        self.version += 1
        self.claims += 1
        rows = rows[rows < len(self.last_at)]
        for slot in np.flatnonzero(self.used):
            self.part[slot, rows] = 0
        for slot in np.flatnonzero(np.isfinite(self.thin_at)):
            self.thin[slot, rows] = np.nan
        self.last_at[rows], self.last_value[rows] = -np.inf, np.nan
        self.source[rows], self.writer[rows] = NOBODY, -1
        if self.changed_at is not None:
            self.changed_at[rows] = -np.inf
        if self.base is not None:
            self.base[rows] = np.nan

    def slots(self, start: float, end: float) -> tuple[Ints, Ints]:
        """Return (slots, ticks) that may hold readings of [start, end], oldest first."""
        if self.newest < 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        oldest = self.newest - len(self.used) + 1
        first = oldest if start == -np.inf else max(oldest, math.floor(start / self.interval))
        last = self.newest if end == np.inf else min(self.newest, math.floor(end / self.interval))
        ticks = np.arange(first, last + 1)
        slots = ticks % len(self.used)
        taken = self.used[slots]
        if taken.all():
            return slots, ticks
        return slots[taken], ticks[taken]

    def read(self, rows: Ints | slice, start: float, end: float) -> tuple[Floats, Floats]:
        """Return (at, value), each [rows, readings], oldest first, of readings in [start, end]."""
        slots, ticks = self.slots(start, end)
        part, value = self._cells(slots, rows)
        at, missing = times(ticks, part, self.interval, start, end)
        values = value.astype(np.float64)
        if missing is not None:
            np.putmask(values, missing, np.nan)
        if self.base is not None:
            values += self.base[rows]
        return at.T, values.T

    def period(self, rows: Ints | slice, start: float) -> float:
        """Return the usual time between readings of one row, of those from `start` on."""
        slots, ticks = self.slots(start, np.inf)
        part = self.part[slots][:, rows]
        return period(ticks, part, self.interval, start)

    def _cells(
        self, slots: Ints, rows: Ints | slice
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Return (part, value), each [slots, rows]; views where slots and rows follow another."""
        # Step by step: what is read lies in memory as slots of rows, whatever way it was chosen.
        if len(slots) and slots[-1] - slots[0] == len(slots) - 1:
            here = slice(int(slots[0]), int(slots[-1]) + 1)  # the ring does not begin anew here
            if isinstance(rows, slice):
                return self.part[here, rows], self.value[here, rows]
            return self.part[here].take(rows, axis=1), self.value[here].take(rows, axis=1)
        if isinstance(rows, slice):
            return self.part[slots, rows], self.value[slots, rows]
        return self.part[slots[:, None], rows], self.value[slots[:, None], rows]

    def highest(self, rows: Ints) -> Floats:
        """Return [rows], the highest reading in the fine tier; -inf where there is none."""
        slots = np.flatnonzero(self.used)
        high = np.full(len(rows), -np.inf)
        # Some slots at a time: at a hundred thousand rows all of them are large.
        for part in np.array_split(slots, max(1, len(slots) * len(rows) // CELLS_AT_ONCE)):
            if len(part):
                held = self.part[part[:, None], rows] > 0
                value = np.where(held, self.value[part[:, None], rows], -np.inf)
                high = np.fmax(high, np.fmax.reduce(value, axis=0))
        return high if self.base is None else high + self.base[rows]

    def history(self, rows: Ints) -> tuple[Floats, Floats]:
        """Return (at [slots], value [rows, slots]) of the thinned tier, oldest first."""
        order = np.argsort(self.thin_at)[: int(np.isfinite(self.thin_at).sum())]
        values = self.thin[order[:, None], rows].astype(np.float64)
        if self.base is not None:
            values += self.base[rows]
        return self.thin_at[order], values.T

    def _wider(self, old: NDArray[Any], rows: int) -> NDArray[Any]:
        new = np.zeros((len(old), rows), old.dtype)
        for slot in np.flatnonzero(self.used):
            new[slot, : old.shape[1]] = old[slot]
        return new
