"""Periodic readings are written to planes, whose slots follow the reporting interval."""

import math
from itertools import pairwise

import numpy as np

from ...detectors.window import Floats, Ints
from .plane_data import CELLS_AT_ONCE, FIRST_SLOTS, THIN_SECONDS, THIN_SLOTS, PlaneData
from .reporting_interval import INTERVALS, ReportingInterval
from .slot_times import PARTS, SlotMoments
from .write_orders import edges

FINE_SECONDS = 900.0
"""How far back single readings are kept."""

FINE_BYTES = 2 << 30
"""What the fine tier of one job may take; where it is not enough, the fine time is shorter."""

BYTES_A_READING, PLANES_PLANNED = 5, 36

FEWEST_SLOTS = 32
MOST_STRETCHED = 10.0
"""The longest slot until the reporting interval is known: so many hold the fine time."""

REBASE_SECONDS = 86_400.0


class MetricPlane(PlaneData):
    """One metric of many rows. Row numbers are those of the plane set."""

    def __init__(self, name: str, *, counter: bool, tracked: bool = False) -> None:
        super().__init__(name, counter=counter, tracked=tracked)
        self.late = 0
        self.newest_at = -math.inf
        """No reading is later."""
        self.moved_at = -math.inf
        """Of a counter: no two readings that are later than this differ in one row."""
        self._based_at = -math.inf
        self._reporting = ReportingInterval()
        self._usual_gap = math.inf
        """A longer time between two readings says nothing new of the reporting interval."""

    def write(self, rows: Ints, at: Floats, value: Floats) -> None:
        """Write readings, all [points], in any order; of two in one slot the newer stays."""
        if len(rows) == 1:
            self.write_one(int(rows[0]), float(at[0]), float(value[0]))
            return
        first, last = float(at.min()), float(at.max())
        if first == last:
            self.write_at(rows, first, value)
            return
        if np.count_nonzero(at[1:] < at[:-1]):
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
        parts = edges(part)
        if len(parts) == 2:
            self.write(rows, at, value)
            return
        first, last = float(at.min()), float(at.max())
        if first == last:
            places = np.array(parts[:-1])
        else:
            places = np.array([b + int(at[b:e].argmin()) for b, e in pairwise(parts)])
        if not self._together(rows[places], at[places], first, last):
            for begin, end in pairwise(parts):
                self.write(rows[begin:end], at[begin:end], value[begin:end])
            return
        if first == last:
            self._write_one_time(rows, first, value)
            return
        if np.count_nonzero(at[1:] < at[:-1]):
            order = np.argsort(at, kind="stable")
            rows, at, value = rows[order], at[order], value[order]
        self._write_sorted(rows, at, value)

    def write_at_once(
        self, rows: Ints | slice, firsts: Ints, at: float, value: Floats, moments: SlotMoments
    ) -> bool:
        """Write readings of some batches at one time, as `write_parts` does; False: not written.

        firsts: the rows at which the batches begin. Nothing is written where it makes a difference
        that they are written together.
        """
        if not self._together(firsts, at, at, at):
            return False
        self._write_one_time(rows, at, value, moments)
        return True

    def _together(self, firsts: Ints, at: Floats | float, first: float, last: float) -> bool:
        """Tell whether it makes no difference to write some batches together.

        Not while the reporting interval is learnt, and not where a slot of the thinned tier ends
        or counters are rebased between two of them. firsts, at: [batches], the row and the time of
        the first reading of each; first, last: times of all readings.
        """
        if not self._reporting.known or last - self._based_at > REBASE_SECONDS:
            return False
        if first != last:
            begins = (math.floor(when / self.interval) * self.interval for when in (first, last))
            if len({begin // THIN_SECONDS for begin in begins}) > 1:
                return False
        return self._reporting.settled(at - self.last_at[firsts], self.interval)

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
        late = len(ticks) - np.count_nonzero(within)
        if not late:
            self._put(rows, ticks, at, kept)
        else:
            self.late += int(late)
            self._put(rows[within], ticks[within], at[within], kept[within])
        newer = at >= self.last_at[rows]
        if np.count_nonzero(newer) < len(newer):
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

    def write_at(
        self, rows: Ints | slice, at: float, value: Floats, moments: SlotMoments | None = None
    ) -> None:
        """Write readings of one time, as `write` does; rows that follow one another as a slice."""
        self._follow(at, rows.start if isinstance(rows, slice) else int(rows[0]))
        self._write_one_time(rows, at, value, moments)

    def write_one(
        self, row: int, at: float, value: float, moments: SlotMoments | None = None
    ) -> None:
        """Write one reading, as `write` does: most of what is written is what a host shows once.

        Number by number, for arrays of one cost several times as much.
        """
        if not at - self.last_at.item(row) > self._usual_gap:
            self._follow(at, row)
        self.version += 1
        tick, part = (SlotMoments(at) if moments is None else moments)[self.interval]
        if tick > self.newest:
            self._advance(tick)
        kept, before = value, self.last_value.item(row)
        if self.base is not None:
            base = self.base.item(row)
            if math.isnan(base):
                base = self.base[row] = value if math.isfinite(value) else 0.0
            kept = value - base
            if value != before and not math.isnan(before):
                self.moved_at = max(self.moved_at, at, self.newest_at)
        if tick > self.newest - len(self.used):
            slot = tick % len(self.used)
            self.value[slot, row] = kept
            self.part[slot, row] = part
            self.used[slot] = True
        else:
            self.late += 1
        if at >= self.newest_at:
            self.newest_at = at
        elif self.last_at.item(row) > at:
            return
        if self.changed_at is not None and value != before:
            self.changed_at[row] = at
        self.last_at[row], self.last_value[row] = at, value

    def _follow(self, at: float, row: int) -> None:
        """Adapt the slots to the reporting interval before a reading of a row is written."""
        gap = at - self.last_at.item(row)
        if not gap > self._usual_gap:
            self._learn(gap)
            if not self._reporting.known:
                self._stretch(at, at)

    def _write_one_time(
        self, rows: Ints | slice, at: float, value: Floats, moments: SlotMoments | None = None
    ) -> None:
        # Most of what a window costs to fill is here: a few operations on few values each.
        self.version += 1
        tick, part = (SlotMoments(at) if moments is None else moments)[self.interval]
        if tick > self.newest:
            self._advance(tick)
        kept = value
        if self.base is not None:
            before = self.last_value[rows]
            if np.count_nonzero(value != before):
                kept = self._beyond_base(numbers(rows), value)
                # A first value is none that moved.
                if np.count_nonzero((value != before) & ~np.isnan(before)):
                    self.moved_at = max(self.moved_at, at, self.newest_at)
            else:
                kept = value - self.base[rows]  # every row has one: it has a value
        if tick > self.newest - len(self.used):
            slot = tick % len(self.used)
            self.value[slot, rows] = kept
            self.part[slot, rows] = part
            self.used[slot] = True
        else:
            self.late += len(value)
        if at < self.newest_at:
            newer = self.last_at[rows] <= at
            if not newer.all():
                rows, value = numbers(rows)[newer], value[newer]
        else:
            self.newest_at = at
        if self.changed_at is not None:
            self.changed_at[numbers(rows)[value != self.last_value[rows]]] = at
        self.last_at[rows] = at
        self.last_value[rows] = value

    def _move(self, rows: Ints, newest: float, value: Floats) -> None:
        """Note whether a counter moves; all [points] but `newest`, the last time of them."""
        if np.count_nonzero(value != self.last_value[rows]):
            # One that comes late may differ from what is held of later times.
            self.moved_at = max(self.moved_at, newest, self.newest_at)

    def _beyond_base(self, rows: Ints, value: Floats) -> Floats:
        """Return values as they are kept: of a counter, beyond what its row began with."""
        if self.base is None:
            return value
        base = self.base[rows]
        fresh = np.isnan(base)
        if np.count_nonzero(fresh):
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
        slots = self.slots(begin, begin + THIN_SECONDS - self.interval)[0]
        thin = self.thin[int(quarter) % THIN_SLOTS]
        thin[:] = np.nan
        many = max(CELLS_AT_ONCE // max(len(slots), 1), 1)
        for first in range(0, len(thin) if len(slots) else 0, many):
            here = slice(first, first + many)
            value = self.value[slots, here]
            valid = (self.part[slots, here] > 0) & np.isfinite(value)
            count = valid.sum(axis=0)
            if self.counter:
                newest = len(slots) - 1 - np.argmax(valid[::-1], axis=0)
                kept = value[newest, np.arange(value.shape[1])]
            else:
                # Summed one after the other, so that the mean is the same however many rows it has.
                sums = np.add.accumulate(np.where(valid, value, 0.0), axis=0, dtype=np.float64)
                kept = (sums[-1] + 0.0) / np.maximum(count, 1)  # no negative zero
            thin[here] = np.where(count > 0, kept, np.nan)
        self.thin_at[int(quarter) % THIN_SLOTS] = begin + THIN_SECONDS

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
        self._usual_gap = self._reporting.usual_gap(interval or self.interval)
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


def numbers(rows: Ints | slice) -> Ints:
    """Return rows by their numbers, those of a slice too."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
