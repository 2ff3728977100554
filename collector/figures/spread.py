"""A metric of many ranks as a band over time: quantiles over ranks, and single ranks among them.

Values are means over buckets of equal length, so that a thousand ranks and a thousand steps fit
into a few kilobytes. A counter is summed up as its increase per second.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...detectors.window import Flags, Floats, Ints
from ..windows.matrices import MetricMatrix

FEWEST_BUCKETS = 2
MOST_NONFINITE = 100
"""Times listed of values that were NaN or infinite, of one rank."""

QUANTILES = (("low", 0.25), ("median", 0.5), ("high", 0.75))


@dataclass(frozen=True, slots=True)
class VariantSpread:
    """One variant of a metric. `bands` by name and `lines` by rank or host: [buckets], NaN: none.

    bands: lowest, low, median, high, highest and mean; low and high are the quartiles over ranks.
    nonfinite: by rank or host, when a value was NaN or infinite.
    """

    count: int
    bands: dict[str, Floats]
    lines: dict[int | str, Floats]
    nonfinite: dict[int | str, list[float]]


@dataclass(slots=True)
class SpreadSummer:
    """Sums up matrices of one variant, one after the other, into buckets of [start, end]."""

    start: float
    end: float
    buckets: int
    counter: bool = False
    nonfinite: dict[int | str, list[float]] = field(default_factory=dict)
    _rows: dict[int | str, int] = field(default_factory=dict)
    _sum: Floats = field(default_factory=lambda: np.zeros(0))
    _count: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def seconds(self) -> float:
        """Return the length of a bucket."""
        return (self.end - self.start) / self.buckets

    def add(self, matrix: MetricMatrix) -> None:
        """Take the readings of a matrix that lie in [start, end]."""
        at, value = matrix.at, matrix.value
        inside: Flags = (at >= self.start) & (at <= self.end) & ~np.isnan(value)
        if not inside.any():
            return
        rows = np.array([self._rows.setdefault(name, len(self._rows)) for name in matrix.names])
        bad: Flags = inside & np.isinf(value)
        for row in np.flatnonzero(np.any(bad, axis=1)).tolist():
            times = self.nonfinite.setdefault(matrix.names[row], [])
            times += np.sort(at[row][np.asarray(bad[row])])[: MOST_NONFINITE - len(times)].tolist()
        inside &= ~bad
        if self.counter:
            at, value, inside = _rates(at, value, inside)
        self._fit()
        bucket = np.minimum(((at[inside] - self.start) / self.seconds).astype(np.int64), self._last)
        flat = np.broadcast_to(rows[:, None], at.shape)[inside] * self.buckets + bucket
        size = len(self._sum)
        self._sum += np.bincount(flat, weights=value[inside], minlength=size)
        self._count += np.bincount(flat, minlength=size)

    def result(self, chosen: Collection[int | str] = (), peers: int = 0) -> VariantSpread | None:
        """Return it; `lines` are the chosen ones, and about so many others. None without data."""
        if not self._count.any():
            return None if not self.nonfinite else VariantSpread(0, {}, {}, self.nonfinite)
        shape = (len(self._rows), self.buckets)
        with np.errstate(invalid="ignore"):
            means = (self._sum / self._count).reshape(shape)
        reporting = set(np.flatnonzero(np.isfinite(means).any(axis=1)).tolist())
        names = [name for name, row in self._rows.items() if row in reporting]
        bands = {
            "lowest": np.fmin.reduce(means, axis=0),
            **_quantiles(means),
            "highest": np.fmax.reduce(means, axis=0),
            "mean": _mean(means),
        }
        wanted = [name for name in names if name in chosen]
        others = [name for name in names if name not in chosen]
        if peers:
            wanted += others[:: -(-len(others) // peers) or 1]
        lines = {name: means[self._rows[name]] for name in wanted}
        return VariantSpread(len(names), bands, lines, self.nonfinite)

    @property
    def _last(self) -> int:
        return self.buckets - 1

    def _fit(self) -> None:
        missing = len(self._rows) * self.buckets - len(self._sum)
        if missing > 0:
            self._sum = np.concatenate((self._sum, np.zeros(missing)))
            self._count = np.concatenate((self._count, np.zeros(missing)))


def fitting(
    matrix: MetricMatrix, start: float, end: float, points: int
) -> tuple[float, float, int] | None:
    """Return start, end and number of buckets that suit the readings of a matrix in [start, end].

    A bucket is never shorter than the usual time between two readings of a row, so that lines have
    no holes where nothing is missing.
    """
    inside = (matrix.at >= start) & (matrix.at <= end) & ~np.isnan(matrix.value)
    if not inside.any():
        return None
    start, end = float(matrix.at[inside].min()), float(matrix.at[inside].max())
    counts = inside.sum(axis=1)
    held = int(np.median(counts[counts > 0]))
    # A moment wider, so that a single reading has a bucket too.
    return start, max(end, start + 1e-3), max(min(points, int(held / 1.1)), FEWEST_BUCKETS)


def _rates(at: Floats, value: Floats, inside: Flags) -> tuple[Floats, Floats, Flags]:
    """Return (at, growth per second, valid): none over a reset or an unreported reading."""
    order = np.argsort(np.where(inside, at, np.inf), axis=1, kind="stable")
    rows = np.arange(len(at))[:, None]
    at, value, inside = at[rows, order], value[rows, order], inside[rows, order]
    seconds, growth = np.diff(at, axis=1), np.diff(value, axis=1)
    valid = inside[:, 1:] & inside[:, :-1] & (seconds > 0) & (growth >= 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return at[:, 1:], growth / seconds, valid


def _quantiles(means: Floats) -> dict[str, Floats]:
    """Return quantiles over the rows that report in each bucket, without a loop over buckets."""
    ordered = np.sort(means, axis=0)  # NaN comes last
    counts: Ints = np.isfinite(ordered).sum(axis=0)
    columns = np.arange(means.shape[1])
    found = {}
    for name, share in QUANTILES:
        place = np.maximum(counts - 1, 0) * share
        below = place.astype(np.int64)
        above = np.minimum(below + 1, np.maximum(counts - 1, 0))
        low, high = ordered[below, columns], ordered[above, columns]
        found[name] = low + (high - low) * (place - below)
    return found


def _mean(means: Floats) -> Floats:
    counts = np.isfinite(means).sum(axis=0)
    total = np.where(np.isfinite(means), means, 0.0).sum(axis=0)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def rounded(values: Sequence[float] | Floats) -> list[float | None]:
    """Return values of five digits as JSON has them, null where there is none."""
    return [float(f"{one:.5g}") if math.isfinite(one) else None for one in map(float, values)]
