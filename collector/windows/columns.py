"""The columns of a step grid: matrices [steps, ranks] on a ruler of ascending step indices.

Step-major, so that a step's values lie together: the newest steps are read and the oldest are
dropped without touching the rest. What derives from a step's values is kept beside them, in planes
whose names begin with "~", and marked `dirty` when these change.
"""

from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Flags, Floats, Ints

N = TypeVar("N", bound=np.generic)

MOST_COLUMNS = 16_384
FEWEST_COLUMNS = 112
CELLS = 1 << 20
"""Cells of a plane that memory is planned for: columns = CELLS / ranks, within the bounds."""

KEPT_COLUMNS, KEPT_SECONDS = 512, 1800.0
"""Steps beyond both are dropped even where there is room."""

NO_FLOOR = int(np.iinfo(np.int64).min)
"""Steps up to the floor were dropped; with none, batches may come in any order."""

_FIRST_CAPACITY = 32

_RULERS = ("index", "ended", "dirty", "duration", "most_tokens", "version")
"""One number a step."""


def longer(old: NDArray[N], count: int, fill: float) -> NDArray[N]:
    """Return so many values: those that there are, and `fill` behind them."""
    new = np.full(count, fill, old.dtype)
    new[: len(old)] = old
    return new


class StepMatrices:
    """Matrices over (step, rank): `at` float64, planes float32, NaN where nobody reported."""

    def __init__(self) -> None:
        self.height = 0
        self.start = 0
        self.used = 0
        self.floor = NO_FLOOR
        self.names: list[str] = []
        self.plane_ids: dict[str, int] = {}
        self.planes: list[NDArray[np.float32]] = []
        self.index: Ints = np.zeros(_FIRST_CAPACITY, np.int64)
        self.ended: Floats = np.full(_FIRST_CAPACITY, -np.inf)
        self.dirty: Flags = np.zeros(_FIRST_CAPACITY, np.bool_)
        self.duration: Floats = np.full(_FIRST_CAPACITY, np.nan)
        self.most_tokens: Floats = np.full(_FIRST_CAPACITY, np.nan)
        self.version: Ints = np.zeros(_FIRST_CAPACITY, np.int64)
        self.at: Floats = np.full((_FIRST_CAPACITY, 0), np.nan)
        self._width = 0

    @property
    def nbytes(self) -> int:
        """Return how many bytes the matrices take."""
        return int(self.at.nbytes) + sum(int(plane.nbytes) for plane in self.planes)

    @property
    def newest(self) -> float:
        """Return the newest step index, -inf where there is none."""
        return float(self.index[self.start + self.used - 1]) if self.used else -np.inf

    @property
    def here(self) -> slice:
        """Return where the columns lie in the matrices."""
        return slice(self.start, self.start + self.used)

    def plane(self, name: str) -> int:
        """Return the number of a plane, adding it when it is new."""
        found = self.plane_ids.get(name)
        if found is None:
            found = self.plane_ids[name] = len(self.names)
            self.names.append(name)
            plane = np.empty((len(self.index), self._width), np.float32)
            plane[self.here, : self.height] = np.nan
            self.planes.append(plane)
        return found

    def values(self, name: str, height: int) -> Floats:
        """Return [ranks, steps] of a plane, float32 to whoever looks closer; no copy."""
        return cast("Floats", self.planes[self.plane(name)][self.here, :height].T)

    def add(self, height: int) -> None:
        """Make room for so many ranks."""
        if height <= self.height:
            return
        if height <= self._width:
            for matrix in self._matrices():
                matrix[self.here, self.height : height] = np.nan
            self.height = height
            return
        for matrix in self._matrices():  # copied as wide as they are, and never written there yet
            matrix[self.here, self.height :] = np.nan
        self.height = height
        self._width = max(height, self._width + min(self._width, self._width // 4 + 4096), 4)
        self.at = self._copied(self.at, len(self.index), self.start)
        self.planes = [self._copied(plane, len(self.index), self.start) for plane in self.planes]

    def of(self, index: Ints) -> tuple[Ints, Ints]:
        """Return (index, column) for sorted unique step indices; column -1 for those too old."""
        known = self.index[self.here]
        newest = known[-1] if self.used else -1
        fresh = index[index > newest] if self.used else index
        if len(fresh) == 1 == len(index):  # as mostly: the next step
            self._extend(fresh)
            return index, np.array([self.start + self.used - 1])
        if len(fresh):
            self._extend(fresh)
            known = self.index[self.here]
        position = np.minimum(np.searchsorted(known, index), len(known) - 1)
        missing = known[position] != index
        between = index[missing & (index > self.floor)]
        if len(between):
            self._insert(between)
            return self.of(index)
        return index, np.where(missing, -1, position + self.start)

    def end(self, rows: Ints, columns: Ints, at: Floats) -> Flags:
        """Note the ends of steps; return where they are new. The first end of a step stands."""
        new = np.isnan(self.at[columns, rows])
        columns, at = columns[new], at[new]
        self.at[columns, rows[new]] = at
        np.maximum.at(self.ended, columns, at)
        self.dirty[columns] = True
        fresh: Flags = new
        return fresh

    def write(self, plane: int, rows: Ints | slice, columns: Ints | int, value: Floats) -> None:
        """Write values of one plane, all [points]; rows may be a slice where the column is one."""
        self.planes[plane][columns, rows] = value
        self.dirty[columns] = True

    def undo(self, row: int, index: int) -> None:
        """Forget what a rank reported of a step and all later ones."""
        first = self.start + int(np.searchsorted(self.index[self.here], index))
        gone = slice(first, self.start + self.used)
        self.at[gone, row] = np.nan
        self.dirty[gone] = True
        for plane in self.planes:
            plane[gone, row] = np.nan
        left = self.at[gone, : self.height]
        self.ended[gone] = np.max(left, axis=1, initial=-np.inf, where=np.isfinite(left))

    def shrink(self) -> None:
        """Drop the newest columns that nobody reports any more."""
        while self.used and np.isnan(self.at[self.start + self.used - 1, : self.height]).all():
            self.used -= 1
        if not self.used:
            self.floor = NO_FLOOR

    def _extend(self, fresh: Ints) -> None:
        limit = self._limit()
        if len(fresh) > limit:
            self.floor = int(fresh[-limit - 1])
            fresh = fresh[-limit:]
        overflow = max(self.used + len(fresh) - limit, self._outdated())
        if overflow > 0:
            self.floor = max(self.floor, int(self.index[self.start + overflow - 1]))
            self.start += overflow
            self.used -= overflow
        if self.start + self.used + len(fresh) > len(self.index):
            self._make_room(len(fresh), limit)
        first, end = self.start + self.used, self.start + self.used + len(fresh)
        self.index[first:end] = fresh
        self.ended[first:end], self.dirty[first:end] = -np.inf, True
        self.duration[first:end] = self.most_tokens[first:end] = np.nan
        # Only as wide as is used: memory that was never written to takes no room.
        for matrix in self._matrices():
            matrix[first:end, : self.height] = np.nan
        self.used += len(fresh)

    def _matrices(self) -> list[NDArray[Any]]:
        return [self.at, *self.planes]

    def _outdated(self) -> int:
        """Return how many of the oldest columns are beyond what is kept."""
        spare = self.used - KEPT_COLUMNS
        if spare <= 0:
            return 0
        ended = self.ended[self.here]
        return int(
            np.searchsorted(np.maximum.accumulate(ended[:spare]), ended.max() - KEPT_SECONDS)
        )

    def _insert(self, between: Ints) -> None:
        """Open columns for steps that arrive after later ones: rare, so simply and slowly."""
        known = self.index[self.here]
        merged = np.union1d(known, between)
        if len(merged) > self._limit():
            self.floor = int(merged[-self._limit() - 1])
            merged = merged[-self._limit() :]
        source = np.minimum(np.searchsorted(known, merged), len(known) - 1)
        held = known[source] == merged
        capacity = max(len(self.index), len(merged) + 16)

        def spread(old: NDArray[Any], fill: float) -> NDArray[Any]:
            new = np.full((capacity, *old.shape[1:]), fill, old.dtype)
            new[np.flatnonzero(held)] = old[source[held] + self.start]
            return new

        self.at = spread(self.at, np.nan)
        self.planes = [spread(plane, np.nan) for plane in self.planes]
        self.ended, self.dirty = spread(self.ended, -np.inf), spread(self.dirty, 1)
        self.duration = spread(self.duration, np.nan)
        self.most_tokens = spread(self.most_tokens, np.nan)
        self.version = spread(self.version, 0)
        index = np.zeros(capacity, np.int64)
        index[: len(merged)] = merged
        self.index, self.start, self.used = index, 0, len(merged)

    def _make_room(self, fresh: int, limit: int) -> None:
        """Slide to the front of the buffer, into a larger one where it is needed."""
        capacity = len(self.index)
        most = max(limit + max(limit // 8, 8), self.used + fresh)
        if capacity < most and self.used + fresh > 0.75 * capacity:
            capacity = min(max(2 * capacity, self.used + fresh), most)
        if capacity == len(self.index):
            self._slide()
            return
        self.at = self._copied(self.at, capacity, 0)
        self.planes = [self._copied(plane, capacity, 0) for plane in self.planes]
        for name in _RULERS:
            old = getattr(self, name)
            new = np.zeros(capacity, old.dtype)
            new[: self.used] = old[self.here]
            setattr(self, name, new)
        self.start = 0

    def _slide(self) -> None:
        rulers = [getattr(self, name) for name in _RULERS]
        for old in (self.at, *rulers, *self.planes):
            # Row by row where source and target overlap: numpy would copy everything first.
            if self.start >= self.used:
                old[: self.used] = old[self.here]
            else:
                for row in range(self.used):
                    old[row] = old[self.start + row]
        self.start = 0

    def _copied(self, old: NDArray[Any], capacity: int, start: int) -> NDArray[Any]:
        """Return a matrix as wide as is needed now, the columns from `start` on."""
        new = np.empty((capacity, self._width), old.dtype)
        new[start : start + self.used, : self.height] = np.nan
        kept = min(old.shape[1], self.height)
        new[start : start + self.used, :kept] = old[self.here, :kept]
        return new

    def _limit(self) -> int:
        return min(max(CELLS // max(self.height, 1), FEWEST_COLUMNS), MOST_COLUMNS)
