"""One number a step of the job's training: its loss or gradient norm, as points on step indices.

Losses come at every step or at every hundredth, from every rank or from one, before or after a
reduction. A curve is what is left of that when the question is about the job: the plane with the
most points, the median over its ranks, and no values that are not finite (nonfinite.py has those).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from . import compute_time, medians
from .arrays import Floats, Ints
from .steps import StepValues

LOSS = "training.loss"
GRADIENT = "training.grad_norm"

MOST_RANKS = 256
"""The median of so many ranks is that of all of them, within the noise of a batch."""

MANY_RANKS = 4
"""With so many ranks the median is no single rank's."""

MOST_SIZE = 1e30
"""No loss or norm of numbers in single precision comes near; what is beyond is no value."""

FEW_ROWS = 8
"""Windows of a trailing median that are copied sooner than looked at where they are."""

MOST_POINTS = 1024
"""Points that the memory of an attempt holds; a run of any length is thinned to so many."""


@dataclass(frozen=True, slots=True)
class JobCurve:
    """Points of a job's curve, all [points]: step index, value, and when the step ended (s).

    plane: which values they are, empty where there are none. reduced: they are of the whole batch,
    or of so many ranks that one rank's odd micro batch does not show.
    """

    index: Ints
    value: Floats
    at: Floats
    plane: str = ""
    reduced: bool = False

    def __len__(self) -> int:
        """Return how many points there are."""
        return len(self.index)

    def last(self, count: int) -> JobCurve:
        """Return the newest `count` points."""
        return self.cut(max(len(self) - count, 0), len(self))

    def cut(self, first: int, last: int) -> JobCurve:
        """Return the points [first, last)."""
        index, value, at = self.index[first:last], self.value[first:last], self.at[first:last]
        return JobCurve(index, value, at, self.plane, self.reduced)

    def until(self, index: int) -> JobCurve:
        """Return the points of steps before an index."""
        return self.cut(0, int(np.searchsorted(self.index, index)))

    def after(self, index: int) -> JobCurve:
        """Return the points of steps after an index."""
        return self.cut(int(np.searchsorted(self.index, index, side="right")), len(self))

    def followed(self, by: JobCurve) -> JobCurve:
        """Return these points and those that another curve has after them."""
        if not len(self):
            return by
        more = by.after(int(self.index[-1]))
        return JobCurve(
            np.concatenate((self.index, more.index)),
            np.concatenate((self.value, more.value)),
            np.concatenate((self.at, more.at)),
            by.plane,
            by.reduced,
        )


NOTHING = JobCurve(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def curve(
    steps: StepValues, ranks: Ints, metric: str, memory: CurveMemory | None = None
) -> JobCurve:
    """Return the job's points of a metric; reduced values first, where equally many are known.

    With the memory of the curve only steps that changed are computed.
    """
    best = NOTHING
    for name in planes_of(metric):
        plane = steps.planes.get(name)
        if plane is None or not plane.size:
            continue
        found = _points(steps, name, ranks, memory)
        if len(found) > len(best):
            best = found
    return best


@cache
def planes_of(metric: str) -> tuple[str, str, str]:
    """Return the planes that a curve of a metric may be made of, the best first."""
    return f"{metric}|global", metric, f"{metric}|local"


def _points(steps: StepValues, name: str, ranks: Ints, memory: CurveMemory | None) -> JobCurve:
    plane = steps.planes[name]
    rows = np.logical_or.reduce(np.isfinite(plane[:, -4:]), axis=1).nonzero()[0]
    if not len(rows):
        rows = np.logical_or.reduce(np.isfinite(plane), axis=1).nonzero()[0]
    if not len(rows):
        return NOTHING
    if len(rows) > MOST_RANKS:
        rows = rows[np.argsort(ranks[rows], kind="stable")]
        rows = rows[np.linspace(0, len(rows) - 1, MOST_RANKS).astype(np.int64)]
    value = _over_ranks(steps, name, rows, memory)
    ends = compute_time.step_ends(steps)
    known = ((np.abs(value) < MOST_SIZE) & np.isfinite(ends)).nonzero()[0]
    reduced = name.endswith("|global") or len(rows) >= MANY_RANKS
    return JobCurve(steps.index[known], value[known], ends[known], name, reduced)


@dataclass(frozen=True, slots=True)
class OverRanks:
    """What a plane's values are over some ranks (rows); index, version and value: [steps]."""

    rows: Ints
    index: Ints
    version: Ints
    value: Floats


def _over_ranks(steps: StepValues, name: str, rows: Ints, memory: CurveMemory | None) -> Floats:
    """Return [steps], the median of a plane over some ranks."""
    plane = steps.planes[name]
    version = None if steps.kept is None else steps.kept.version
    if memory is None or version is None:
        return _median_of(plane[rows])
    value = np.full(len(steps.index), np.nan)
    fresh = np.ones(len(value), np.bool_)
    held = memory.over_ranks.get(name)
    if held is not None and len(held.rows) == len(rows) and (held.rows == rows).all():
        place = np.minimum(held.index.searchsorted(steps.index), len(held.index) - 1)
        same = (held.index[place] == steps.index) & (held.version[place] == version)
        value[same], fresh = held.value[place[same]], ~same
    if fresh.any():
        value[fresh] = _median_of(plane[:, fresh][rows])
    index = steps.index.copy()
    memory.over_ranks[name] = OverRanks(rows, index, version.copy(), value)
    return value


def _median_of(values: Floats) -> Floats:
    values = values.astype(np.float64)
    if len(values) == 1:
        lone: Floats = values[0]
        return lone
    return medians.median(np.where(np.isfinite(values), values, np.nan), axis=0)


class CurveMemory:
    """A curve for as long as an attempt lasts, thinned evenly to MOST_POINTS at most.

    Single points are kept rather than means, so that the noise of what is held is that of a point.
    `earlier` is the curve of what came before: the attempt before this one, or the steps that this
    one has gone back behind.
    """

    def __init__(self) -> None:
        self.curve = NOTHING
        self.earlier = NOTHING
        self.over_ranks: dict[str, OverRanks] = {}
        self.levels: dict[int, CurveLevel] = {}
        self._stride = 1
        self._seen = 0
        self._newest: tuple[int, float] | None = None

    def follow(self, before: CurveMemory) -> None:
        """Take what an earlier attempt has held as what came before."""
        self.earlier = before.curve if len(before.curve) else before.earlier

    def learn(self, points: JobCurve) -> None:
        """Take in the points of a window that are new."""
        if not len(points):
            return
        held, newest = self.curve, self._newest
        if newest and points.index[-1] < newest[0] and points.at[-1] > newest[1]:
            first = int(points.index[np.searchsorted(points.at, newest[1], side="right")])
            self.earlier, held = held, held.until(first)
            self._seen = len(held) * self._stride
            new = points.after(first - 1)
        else:
            new = points.after(newest[0]) if newest else points
        if not len(new):
            return
        self._newest = int(new.index[-1]), float(new.at[-1])
        order = self._seen + np.arange(len(new))
        kept = order % self._stride == 0
        self._seen += len(new)
        picked = new.index[kept], new.value[kept], new.at[kept]
        self.curve = held.followed(JobCurve(*picked, points.plane, points.reduced))
        while len(self.curve) > MOST_POINTS:
            self._stride *= 2
            all_of = self.curve
            thinned = all_of.index[::2], all_of.value[::2], all_of.at[::2]
            self.curve = JobCurve(*thinned, all_of.plane, all_of.reduced)


@dataclass(frozen=True, slots=True)
class CurveLevel:
    """Values and the medians of those before each, both [values]."""

    values: Floats
    level: Floats


def trailing_median(values: Floats, count: int, memory: CurveMemory | None = None) -> Floats:
    """Return [values], the median of the `count` values before each; NaN where there are fewer.

    With the memory of the curve only those of new points are computed.
    """
    held = None if memory is None else memory.levels.get(count)
    level = np.full(len(values), np.nan)
    first = count
    if held is not None:
        both = min(len(held.values), len(values))
        other = np.flatnonzero(held.values[:both] != values[:both])
        same = int(other[0]) if len(other) else both
        level[:same] = held.level[:same]
        first = max(same, count)
    if len(values) > first:
        # A view of so few rows costs more than they do.
        few = len(values) - first <= FEW_ROWS
        level[first:] = medians.of_rows(
            np.array([values[end - count : end] for end in range(first, len(values))])
            if few
            else sliding_window_view(values[first - count : -1], count)
        )
    if memory is not None:
        memory.levels[count] = CurveLevel(values, level)
    return level


def noise(values: Floats) -> float:
    """Return the standard deviation of a value around its neighbours; a trend adds nothing to it.

    By the median of second differences, so that single outliers do not count.
    """
    if len(values) < 4:
        return 0.0
    second = values[2:] - 2 * values[1:-1] + values[:-2]
    return medians.OF_MAD * medians.middle(np.abs(second)) / float(np.sqrt(6.0))


def bends(x: Floats, values: Floats, places: Ints) -> Floats:
    """Return [places], how well a level up to a place and a line from it on fit the values.

    Correlations, but for a common factor: positive where the line rises with x, which is monotonic.
    With -x it is a line up to the place, that falls with x, and a level from it on.
    """
    rise = np.maximum(x - x[places][:, None], 0.0)
    rise -= rise.mean(axis=1, keepdims=True)
    gain: Floats = rise @ (values - values.mean()) / np.sqrt((rise**2).sum(axis=1))
    return gain


def recent(memory: JobCurve, window: JobCurve) -> JobCurve:
    """Return the window's points after those of the memory that the window no longer holds."""
    if not len(window) or not len(memory) or memory.plane != window.plane:
        return window
    return memory.until(int(window.index[0])).followed(window)
