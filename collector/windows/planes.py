"""Periodic readings as planes: one matrix [slots, rows] a metric, a slot an interval of its ring.

Float32 values and the time within the slot in one byte: five bytes a reading, for as long as the
fine tier lasts, and means over longer slots beyond it. Counters are kept as differences to what a
row began with, so that a large counter's growth is not rounded away.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints
from .reporting_interval import INTERVALS, ReportingInterval
from .slot_times import PARTS, part_of, times

FINE_SECONDS = 900.0
"""How far back single readings are kept."""

THIN_SECONDS, THIN_SLOTS = 900.0, 48
"""Beyond that: twelve hours of means over a quarter of an hour (a counter's last value)."""

FINE_BYTES = 2 << 30
"""What the fine tier of one job may take; where it is not enough, the fine time is shorter."""

BYTES_A_READING, PLANES_PLANNED = 5, 36

FEWEST_SLOTS = 32
FIRST_INTERVAL, FIRST_SLOTS = 1.0, 128
"""Until the reporting interval is known."""

MOST_STRETCHED = 10.0
"""The longest slot until then: so many hold the fine time."""

CELLS_AT_ONCE = 1 << 20
"""Readings that are looked at at once where all that is held is."""

REBASE_SECONDS = 86_400.0
NOBODY = 127
"""The source of a row that nobody reports; see attributes.SOURCES for the others."""


class Plane:
    """One metric of many rows. Row numbers are those of the plane set."""

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
        self.late = 0
        self.version = 0
        """Moves with every change of what can be read."""
        self.claims = 0
        """Moves when rows get another source."""
        self.newest_at = -math.inf
        """No reading is later."""
        self.moved_at = -math.inf
        """Of a counter: no two readings that are later than this differ in one row."""
        self._based_at = -math.inf
        self._reporting = ReportingInterval()

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
        self.last_at = _longer(self.last_at, rows, -np.inf)
        self.last_value = _longer(self.last_value, rows, np.nan)
        self.source = _longer(self.source, rows, NOBODY)
        self.writer = _longer(self.writer, rows, -1)
        if self.changed_at is not None:
            self.changed_at = _longer(self.changed_at, rows, -np.inf)
        if self.base is not None:
            self.base = _longer(self.base, rows, np.nan)

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

    def write(self, rows: Ints, at: Floats, value: Floats) -> None:
        """Write readings, all [points], in any order; of two in one slot the newer stays."""
        first, last = float(at.min()), float(at.max())
        if first == last:
            self.write_at(rows, first, value)
            return
        if (at[1:] < at[:-1]).any():
            order = np.argsort(at, kind="stable")
            rows, at, value = rows[order], at[order], value[order]
        self._learn(float(at[0]) - float(self.last_at[rows[0]]))
        if not self._reporting.known:
            self._stretch(first, last)
        self._write_sorted(rows, at, value)

    def write_parts(self, rows: Ints, at: Floats, value: Floats, part: Ints) -> None:
        """Write readings of some batches, no row in two of them, as one batch after the other.

        part: [points], the number of the batch, ascending.
        """
        edges = [0, *(np.flatnonzero(part[1:] != part[:-1]) + 1).tolist(), len(part)]
        first, last = float(at.min()), float(at.max())
        if not self._together(edges, rows, at, first, last):
            for begin, end in pairwise(edges):
                self.write(rows[begin:end], at[begin:end], value[begin:end])
            return
        if first == last:
            self._write_one_time(rows, first, value)
            return
        if (at[1:] < at[:-1]).any():
            order = np.argsort(at, kind="stable")
            rows, at, value = rows[order], at[order], value[order]
        self._write_sorted(rows, at, value)

    def _together(
        self, edges: list[int], rows: Ints, at: Floats, first: float, last: float
    ) -> bool:
        """Tell whether it makes no difference to write some batches together.

        Not while the reporting interval is learnt, and not where a slot of the thinned tier ends
        or counters are rebased between two of them.
        """
        if len(edges) == 2 or not self._reporting.known:
            return False
        begins = (math.floor(when / self.interval) * self.interval for when in (first, last))
        if len({begin // THIN_SECONDS for begin in begins}) > 1:
            return False
        if last - self._based_at > REBASE_SECONDS:
            return False
        if first == last:
            places = edges[:-1]
        else:
            places = [begin + int(at[begin:end].argmin()) for begin, end in pairwise(edges)]
        gaps = at[places] - self.last_at[rows[places]]
        return self._reporting.settled(gaps, self.interval)

    def _write_sorted(self, rows: Ints, at: Floats, value: Floats) -> None:
        self.version += 1
        if self.base is not None:
            self._move(rows, float(at[-1]), value)
        ticks = np.floor(at / self.interval).astype(np.int64)
        newest = int(ticks[-1])
        if newest > self.newest:
            self._advance(newest)
        within = ticks > self.newest - len(self.used)
        kept = self._beyond_base(rows, value)
        if within.all():
            self._put(rows, ticks, at, kept)
        else:
            self.late += int((~within).sum())
            self._put(rows[within], ticks[within], at[within], kept[within])
        newer = at >= self.last_at[rows]
        if not newer.all():
            rows, at, value = rows[newer], at[newer], value[newer]
        if self.changed_at is not None:
            many = len(np.unique(rows)) < len(rows)
            cuts = [slice(n, n + 1) for n in range(len(rows))] if many else [slice(None)]
            for part in cuts:
                moved = value[part] != self.last_value[rows[part]]
                self.changed_at[rows[part][moved]] = at[part][moved]
                self.last_value[rows[part]] = value[part]
        self.last_at[rows], self.last_value[rows] = at, value
        if len(at):
            self.newest_at = max(self.newest_at, float(at[-1]))

    def write_at(self, rows: Ints, at: float, value: Floats) -> None:
        """Write readings of one time, as `write` does."""
        self._learn(at - float(self.last_at[rows[0]]))
        if not self._reporting.known:
            self._stretch(at, at)
        self._write_one_time(rows, at, value)

    def _write_one_time(self, rows: Ints, at: float, value: Floats) -> None:
        self.version += 1
        tick = math.floor(at / self.interval)
        if tick > self.newest:
            self._advance(tick)
        kept = value
        if self.base is not None:
            kept = self._beyond_base(rows, value)
            self._move(rows, at, value)
        if tick > self.newest - len(self.used):
            slot = tick % len(self.used)
            self.value[slot, rows] = kept
            self.part[slot, rows] = part_of(at, tick, self.interval)
            self.used[slot] = True
        else:
            self.late += len(rows)
        if at < self.newest_at:
            newer = self.last_at[rows] <= at
            if not newer.all():
                rows, value = rows[newer], value[newer]
        else:
            self.newest_at = at
        if self.changed_at is not None:
            self.changed_at[rows[value != self.last_value[rows]]] = at
        self.last_at[rows] = at
        self.last_value[rows] = value

    def _move(self, rows: Ints, newest: float, value: Floats) -> None:
        """Note whether a counter moves; all [points] but `newest`, the last time of them."""
        if (value != self.last_value[rows]).any():
            # One that comes late may differ from what is held of later times.
            self.moved_at = max(self.moved_at, newest, self.newest_at)

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

    def _beyond_base(self, rows: Ints, value: Floats) -> Floats:
        """Return values as they are kept: of a counter, beyond what its row began with."""
        if self.base is None:
            return value
        base = self.base[rows]
        fresh = np.isnan(base)
        if fresh.any():
            self.base[rows[fresh]] = np.where(np.isfinite(value), value, 0.0)[fresh]
            base = self.base[rows]
        return value - base

    def _put(self, rows: Ints, ticks: Ints, at: Floats, value: Floats) -> None:
        slots = ticks % len(self.used)
        part = np.rint((at / self.interval - ticks) * PARTS).astype(np.uint8) + np.uint8(1)
        if len(ticks) and ticks[0] == ticks[-1]:
            slot = int(slots[0])
            self.value[slot, rows], self.part[slot, rows] = value, part
            self.used[slot] = True
            return
        self.value[slots, rows], self.part[slots, rows] = value, part
        self.used[slots] = True

    def _advance(self, tick: int) -> None:
        """Begin the slots up to `tick`, forgetting what they held."""
        at, before = tick * self.interval, self.newest * self.interval
        if self.newest >= 0 and at // THIN_SECONDS != before // THIN_SECONDS:
            self._thin(before // THIN_SECONDS)
        if at - self._based_at > REBASE_SECONDS:
            self._rebase(at)
        count = len(self.used)
        if tick == self.newest + 1:  # as mostly
            slot = tick % count
            if self.used[slot]:
                self.part[slot] = 0
                self.used[slot] = False
        else:
            gone = np.arange(max(self.newest + 1, tick - count + 1), tick + 1) % count
            self.part[gone[self.used[gone]]] = 0
            self.used[gone] = False
        self.newest = tick

    def _thin(self, quarter: float) -> None:
        begin = quarter * THIN_SECONDS
        total = np.zeros(len(self.last_at))
        count = np.zeros(len(self.last_at), np.int32)
        for slot in self.slots(begin, begin + THIN_SECONDS - self.interval)[0]:
            valid = (self.part[slot] > 0) & np.isfinite(self.value[slot])
            if self.counter:
                total[valid], count[valid] = self.value[slot][valid], 1
            else:
                total[valid] += self.value[slot][valid]
                count += valid
        slot = int(quarter) % THIN_SLOTS
        with np.errstate(invalid="ignore", divide="ignore"):
            self.thin[slot] = np.where(count > 0, total / count, np.nan)
        self.thin_at[slot] = begin + THIN_SECONDS

    def _rebase(self, at: float) -> None:
        if self.base is not None and math.isfinite(self._based_at):
            moved = np.where(np.isfinite(self.last_value), self.last_value - self.base, 0.0)
            moved = np.where(np.isfinite(moved), moved, 0.0)
            self.base += moved
            for slot in np.flatnonzero(self.used):
                self.value[slot] -= moved
            for slot in np.flatnonzero(np.isfinite(self.thin_at)):
                self.thin[slot] -= moved
        self._based_at = at

    def _learn(self, gap: float) -> None:
        """Adapt the slots to the reporting interval."""
        interval = self._reporting.learn(gap, self.interval)
        if interval is None:
            return
        planned = FINE_BYTES // (BYTES_A_READING * PLANES_PLANNED * max(len(self.last_at), 1))
        wanted = math.ceil(FINE_SECONDS / interval) + 6
        self._resize(interval, max(FEWEST_SLOTS, min(wanted, planned)))

    def _stretch(self, first: float, last: float) -> None:
        """Widen the slots where a rare reporter would push its own first readings out."""
        if self.newest * self.interval <= first and last < (self.newest + 1) * self.interval:
            return  # of a slot that is held already
        held = self.slots(-np.inf, np.inf)[1]
        span = last - min(first, self.interval * int(held[0]) if len(held) else first)
        interval = self.interval
        while span >= interval * (FIRST_SLOTS - 1) and interval < MOST_STRETCHED:
            interval = min(one for one in INTERVALS if one > interval)
        if interval != self.interval:
            self._resize(interval, FIRST_SLOTS)

    def _resize(self, interval: float, count: int) -> None:
        rows = len(self.last_at)
        self.version += 1
        at, value = self.read(slice(None), -np.inf, np.inf)
        if self.base is not None:
            value -= self.base[:, None]
        self.interval = interval
        self.value, self.part = (
            np.zeros((count, rows), np.float32),
            np.zeros((count, rows), np.uint8),
        )
        self.used = np.zeros(count, np.bool_)
        valid = np.isfinite(at)
        newest = float(at[valid].max()) if valid.any() else -1.0
        self.newest = math.floor(newest / interval) if newest >= 0 else -1
        for column in range(at.shape[1]):
            here = np.flatnonzero(valid[:, column])
            ticks = np.floor(at[here, column] / interval).astype(np.int64)
            here, ticks = here[ticks > self.newest - count], ticks[ticks > self.newest - count]
            if len(here):
                order = np.argsort(ticks, kind="stable")
                here, ticks = here[order], ticks[order]
                self._put(here, ticks, at[here, column], value[here, column])

    def _wider(self, old: NDArray[Any], rows: int) -> NDArray[Any]:
        new = np.zeros((len(old), rows), old.dtype)
        for slot in np.flatnonzero(self.used):
            new[slot, : old.shape[1]] = old[slot]
        return new


def _longer(old: NDArray[Any], count: int, fill: float) -> NDArray[Any]:
    new = np.full(count, fill, old.dtype)
    new[: len(old)] = old
    return new
