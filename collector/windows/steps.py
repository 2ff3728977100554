"""The step grid of one job attempt: planes of [ranks, steps] on the ruler of step indices.

A point says its rank and its time; the step it belongs to is reported by the `training.step` point
with the same rank and time. A point that arrives before its step waits; where a job never reports
steps, the distinct times of each rank are counted instead.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints, Steps

MOST_COLUMNS = 16_384
FEWEST_COLUMNS = 256
CELLS = 1 << 21
"""Cells of a plane that memory is planned for: columns = CELLS / ranks, within the bounds."""

MOST_AHEAD = 1e6
"""Steps that a rank may be ahead of all others at once; a step index beyond it is a mistake."""

LOOK_BACK = 128
"""Columns searched for the step of a late point."""

STEP_INDEX_TIMEOUT_SECONDS = 10.0
"""How long points wait for `training.step` before a job counts as one that never reports it."""

MOST_WAITING = 200_000

REPORTED_NAN = -np.inf
"""What stands in a plane for a NaN that was reported; infinities of either sign are +Inf there."""

_NO_FLOOR = int(np.iinfo(np.int64).min)
"""Steps up to the floor were forgotten; with none, batches may come in any order."""


_Ended = tuple[Ints, Floats, Ints]
"""Steps that just ended, as rows, times and columns."""

_KEYED_SECONDS = 1e6
"""Row and microseconds share 63 bits: 40 for the time."""


def _key(rows: Ints, seconds: Floats) -> Ints:
    """Return one integer for a row and a time, to the microsecond."""
    key: Ints = (rows << 40) + np.rint(seconds * 1e6).astype(np.int64)
    return key


class StepGrid:
    """Planes over (rank, step). Rows are handed out by `row`; columns come and go with time."""

    STEP = "training.step"

    def __init__(self) -> None:
        self.ranks: list[int] = []
        self.rows: dict[int, int] = {}
        self.start = 0
        self.used = 0
        self.names: list[str] = []
        self.plane_ids: dict[str, int] = {}
        self._capacity = 64
        self._height = 4
        self._columns = np.zeros(self._capacity, np.int64)
        self._at = np.full((self._height, self._capacity), np.nan)
        self._planes: list[Floats] = []
        self._best = np.zeros((0, self._height), np.int8)
        self._writer = np.zeros((0, self._height), np.int64)
        self.last_received = np.full(self._height, -np.inf)
        self.last_at = np.full(self._height, -np.inf)
        self.last_index = np.full(self._height, -1, np.int64)
        self.late = 0
        self._floor = _NO_FLOOR
        self._tells_steps = False
        self._counted = np.zeros(self._height, np.int64)
        self._waiting: list[tuple[Ints, Ints, Floats, Floats, float]] = []

    def row(self, rank: int) -> int:
        """Return the row of a rank, adding it when it is new."""
        found = self.rows.get(rank)
        if found is None:
            found = self.rows[rank] = len(self.ranks)
            self.ranks.append(rank)
            if found >= self._height:
                self._heighten()
        return found

    def plane(self, name: str) -> int:
        """Return the number of a plane, adding it when it is new."""
        found = self.plane_ids.get(name)
        if found is None:
            found = self.plane_ids[name] = len(self.names)
            self.names.append(name)
            self._planes.append(np.full((self._height, self._capacity), np.nan))
            self._best = np.concatenate(
                (self._best, np.full((1, self._height), np.iinfo(np.int8).max, np.int8))
            )
            self._writer = np.concatenate((self._writer, np.full((1, self._height), -1)))
        return found

    def claim(self, plane: int, row: int, source: int, series: int) -> tuple[bool, int]:
        """Return (may this series write here, the series of a worse source that must stop or -1).

        The first source in the contract's order wins, whichever was received first.
        """
        best = int(self._best[plane, row])
        if source > best:
            return False, -1
        worse = int(self._writer[plane, row]) if source < best else -1
        self._best[plane, row], self._writer[plane, row] = source, series
        return True, worse

    def append(self, planes: Ints, rows: Ints, at: Floats, value: Floats, now: float) -> None:
        """Write points, all [points]. `now` is when they were received."""
        if not len(rows):
            return
        self.last_received[rows] = now
        if not np.isfinite(value).all():  # NaN in the grid means that nobody reported
            infinite = np.where(np.isinf(value), np.inf, value)
            value = np.where(np.isnan(value), REPORTED_NAN, infinite)
        step_plane = self.plane_ids.get(self.STEP, -1)
        tells = planes == step_plane
        if tells.any():
            self._tells_steps = True
            ended = self._end_steps(rows[tells], at[tells], value[tells])
            others = ~tells
            self._place(planes[others], rows[others], at[others], value[others], now, ended)
            self._retry(now)
        else:
            self._place(planes, rows, at, value, now, None)
        if not self._tells_steps and self._waiting:
            self._count_instead(now)

    def view(self) -> Steps:
        """Return the grid as detectors see it (views, no copies)."""
        here = slice(self.start, self.start + self.used)
        height = len(self.ranks)
        planes = {
            name: plane[:height, here]
            for name, plane in zip(self.names, self._planes, strict=True)
            if name != self.STEP
        }
        return Steps(self._columns[here], self._at[:height, here], planes)

    def _end_steps(self, rows: Ints, at: Floats, steps: Floats) -> _Ended | None:
        sane = np.isfinite(steps) & (np.abs(steps) < 2**53)
        if self.used:
            # One rank's absurd index must not become the newest column of everybody.
            sane &= steps < float(self._columns[self.start + self.used - 1]) + MOST_AHEAD
            self.late += int((~sane).sum())
        rows, at, index = rows[sane], at[sane], steps[sane].astype(np.int64)
        if not len(rows):
            return None
        # A rank whose step index falls while its time goes on was rolled back: what it had reported
        # of later steps is undone.
        back = (index < self.last_index[rows]) & (at > self.last_at[rows])
        if back.any():
            self._undo(rows[back], index[back])
        columns = self._columns_of(np.unique(index))
        position = np.searchsorted(columns[0], index)
        column = columns[1][position]
        kept = column >= 0
        self.late += int((~kept).sum())
        rows, column, at = rows[kept], column[kept], at[kept]
        self._at[rows, column] = at
        newer = at >= self.last_at[rows]
        order = np.argsort(at[newer], kind="stable")
        newest_rows, newest = rows[newer][order], np.flatnonzero(newer)[order]
        self.last_at[newest_rows] = at[newest]
        self.last_index[newest_rows] = self._columns[column[newest]]
        return rows, at, column

    def _columns_of(self, index: Ints) -> tuple[Ints, Ints]:
        """Return (index, column) for sorted unique step indices; column -1 for those too old."""
        known = self._columns[self.start : self.start + self.used]
        newest = known[-1] if self.used else -1
        fresh = index[index > newest] if self.used else index
        if len(fresh):
            self._extend(fresh)
            known = self._columns[self.start : self.start + self.used]
        position = np.searchsorted(known, index)
        position = np.minimum(position, len(known) - 1)
        missing = known[position] != index
        between = index[missing & (index > self._floor)]
        if len(between):
            self._insert(between)
            return self._columns_of(index)
        return index, np.where(missing, -1, position + self.start)

    def _extend(self, fresh: Ints) -> None:
        limit = self._limit()
        if len(fresh) > limit:
            self._floor = int(fresh[-limit - 1])
            fresh = fresh[-limit:]
        overflow = self.used + len(fresh) - limit
        if overflow > 0:
            forgotten = int(self._columns[self.start + overflow - 1])
            self._floor = max(self._floor, forgotten)
            self.start += overflow
            self.used -= overflow
        if self.start + self.used + len(fresh) > self._capacity:
            self._make_room(len(fresh))
        end = self.start + self.used
        self._columns[end : end + len(fresh)] = fresh
        self.used += len(fresh)

    def _insert(self, between: Ints) -> None:
        """Open columns for steps that arrive after later ones: rare, so simply and slowly."""
        known = self._columns[self.start : self.start + self.used]
        merged = np.union1d(known, between)
        if len(merged) > self._limit():
            self._floor = int(merged[-self._limit() - 1])
            merged = merged[-self._limit() :]
        source = np.searchsorted(known, merged)
        source = np.minimum(source, len(known) - 1)
        here = known[source] == merged
        picked = source + self.start

        def spread(old: Floats, capacity: int) -> Floats:
            new = np.full((old.shape[0], capacity), np.nan)
            new[:, : len(merged)] = np.where(here, old[:, picked], np.nan)
            return new

        capacity = max(self._capacity, 2 * len(merged))
        self._at = spread(self._at, capacity)
        self._planes = [spread(plane, capacity) for plane in self._planes]
        self._columns = np.concatenate((merged, np.zeros(capacity - len(merged), np.int64)))
        self._capacity, self.start, self.used = capacity, 0, len(merged)

    def _undo(self, rows: Ints, index: Ints) -> None:
        here = slice(self.start, self.start + self.used)
        for row in np.unique(rows):
            first = self.start + int(np.searchsorted(self._columns[here], index[rows == row].min()))
            gone = slice(first, self.start + self.used)
            self._at[row, gone] = np.nan
            for plane in self._planes:
                plane[row, gone] = np.nan
        while self.used and np.isnan(self._at[:, self.start + self.used - 1]).all():
            self.used -= 1
        if not self.used:
            self._floor = _NO_FLOOR

    def _make_room(self, fresh: int) -> None:
        """Slide to the front of the buffer, into one twice as large where it is needed."""
        capacity = self._capacity
        while capacity < min(2 * (self.used + fresh), 2 * self._limit()) or (
            capacity < self.used + fresh
        ):
            capacity *= 2
        here = slice(self.start, self.start + self.used)

        def slid(old: Floats) -> Floats:
            new = np.full((old.shape[0], capacity), np.nan)
            new[:, : self.used] = old[:, here]
            return new

        self._at = slid(self._at)
        self._planes = [slid(plane) for plane in self._planes]
        columns = np.zeros(capacity, np.int64)
        columns[: self.used] = self._columns[here]
        self._columns, self._capacity, self.start = columns, capacity, 0

    def _heighten(self) -> None:
        extra = self._height

        def higher(old: NDArray[np.float64], fill: float) -> Floats:
            return np.concatenate((old, np.full((extra, *old.shape[1:]), fill)))

        self._at = higher(self._at, np.nan)
        self._planes = [higher(plane, np.nan) for plane in self._planes]
        self.last_received = higher(self.last_received, -np.inf)
        self.last_at = higher(self.last_at, -np.inf)
        self.last_index = np.concatenate((self.last_index, np.full(extra, -1, np.int64)))
        self._counted = np.concatenate((self._counted, np.zeros(extra, np.int64)))
        most = np.iinfo(np.int8).max
        more = np.full((self._best.shape[0], extra), most, np.int8)
        self._best = np.concatenate((self._best, more), axis=1)
        none = np.full((self._writer.shape[0], extra), -1)
        self._writer = np.concatenate((self._writer, none), axis=1)
        self._height += extra

    def _limit(self) -> int:
        return int(np.clip(CELLS // max(len(self.ranks), 1), FEWEST_COLUMNS, MOST_COLUMNS))

    def _place(
        self, planes: Ints, rows: Ints, at: Floats, value: Floats, now: float, ended: _Ended | None
    ) -> None:
        if not len(rows):
            return
        column = self._match(rows, at, ended)
        found = column >= 0
        if found.all():
            self._write(planes, rows, column, value)
            return
        self._write(planes[found], rows[found], column[found], value[found])
        lost = ~found
        if lost.any():
            self._waiting.append((planes[lost], rows[lost], at[lost], value[lost], now))
            self._forget()

    def _write(self, planes: Ints, rows: Ints, column: Ints, value: Floats) -> None:
        # Senders order points by metric; 16 bits make the sort a radix sort where they do not.
        if (np.diff(planes) < 0).any():
            order = np.argsort(planes.astype(np.int16), kind="stable")
            planes, rows, column, value = planes[order], rows[order], column[order], value[order]
        edges = [0, *(np.flatnonzero(np.diff(planes)) + 1).tolist(), len(planes)]
        for begin, end in pairwise(edges):
            if begin < end:
                part = slice(begin, end)
                self._planes[planes[begin]][rows[part], column[part]] = value[part]

    def _match(self, rows: Ints, at: Floats, ended: _Ended | None) -> Ints:
        """Return [points] columns as `_find` does; most belong to the steps that just ended."""
        if ended is None or not len(ended[0]):
            return self._find(rows, at)
        base = min(float(ended[1].min()), float(at.min()))
        if max(float(ended[1].max()), float(at.max())) - base > _KEYED_SECONDS:
            return self._find(rows, at)
        known, wanted = _key(ended[0], ended[1] - base), _key(rows, at - base)
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
        place = order[place]
        column = np.where(known[place] == wanted, ended[2][place], -1)
        missing = np.flatnonzero(column < 0)
        if len(missing):
            column[missing] = self._find(rows[missing], at[missing])
        return column

    def _find(self, rows: Ints, at: Floats) -> Ints:
        """Return [points] the column whose step of that rank ended at that time; -1 if none."""
        if not self.used:
            return np.full(len(rows), -1)
        end = self.start + self.used
        first = max(self.start, end - LOOK_BACK)
        # Points of one step share rank and time, so few distinct pairs are looked up.
        times, time_of = np.unique(at, return_inverse=True)
        pair = time_of * self._height + rows
        pairs, pair_of = np.unique(pair, return_inverse=True)
        pair_rows, pair_at = pairs % self._height, times[pairs // self._height]
        hit = self._at[pair_rows, first:end] == pair_at[:, None]
        column = np.where(hit.any(axis=1), hit.argmax(axis=1) + first, -1)
        return column[pair_of]

    def _retry(self, now: float) -> None:
        waiting, self._waiting = self._waiting, []
        for planes, rows, at, value, last_received in waiting:
            column = self._find(rows, at)
            found = column >= 0
            self._write(planes[found], rows[found], column[found], value[found])
            lost = ~found
            if lost.any() and now - last_received < STEP_INDEX_TIMEOUT_SECONDS:
                self._waiting.append(
                    (planes[lost], rows[lost], at[lost], value[lost], last_received)
                )
            else:
                self.late += int(lost.sum())

    def _forget(self) -> None:
        while sum(len(part[1]) for part in self._waiting) > MOST_WAITING:
            self.late += len(self._waiting.pop(0)[1])

    def _count_instead(self, now: float) -> None:
        """Count the distinct times of each rank as steps, where nobody reports step indices."""
        if now - self._waiting[0][4] < STEP_INDEX_TIMEOUT_SECONDS and self.used == 0:
            return
        parts, self._waiting = self._waiting, []
        planes, rows, at, value = (
            np.concatenate([part[column] for part in parts]) for column in range(4)
        )
        order = np.lexsort((at, rows))
        planes, rows, at, value = planes[order], rows[order], at[order], value[order]
        new = np.concatenate(([True], (rows[1:] != rows[:-1]) | (at[1:] != at[:-1])))
        firsts = np.flatnonzero(new)
        steps = np.zeros(len(firsts), np.int64)
        for number, position in enumerate(firsts):
            self._counted[rows[position]] += 1
            steps[number] = self._counted[rows[position]]
        self._end_steps(rows[firsts], at[firsts], steps.astype(np.float64))
        column = self._find(rows, at)
        found = column >= 0
        self._write(planes[found], rows[found], column[found], value[found])
        self.late += int((~found).sum())
