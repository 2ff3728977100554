"""A trend in equal parts of a time range: where it began, how fast it is, whether it still goes on.

References: Sen, Estimates of the regression coefficient based on Kendall's tau (JASA 1968).
"""

from functools import cache

import numpy as np

from .. import medians
from ..window import Flags, Floats, Ints, PeriodicReadings

BINS = 16
"""Equal parts of a time range; a row's mean in each is what is looked at."""

FEWEST_BINS = 8
"""Parts with a reading without which nothing is said."""

SIGNIFICANCE = 3.0
"""Standard deviations of Kendall's S under no trend."""

BENT = 2.0
"""A line with a knee counts where it leaves so many times less than one line does."""

STRAIGHT = 0.98
"""Growth that is so many times as fast in the second half as in the first does not slow down."""

HALVES_APART = BINS // 2 - 1
"""By so many parts the halves of a range lie apart that `halves` compares: one part is of both."""

FASTER = 2.0
"""Growth became faster where it is so many times what it was before the knee."""


def last_low(binned: Floats) -> Ints:
    """Return [rows], the last part in which memory was where it was at first."""
    filled = completed(binned)
    total = filled[:, -1] - filled[:, 0]
    low = filled <= (filled[:, 0] + 0.06 * total)[:, None]
    places: Ints = BINS - 1 - low[:, ::-1].argmax(axis=1)
    return places


def level_before(binned: Floats) -> Floats:
    """Return [rows], the mean of the parts up to the last one in which memory was as at first."""
    flat = np.arange(BINS) <= last_low(binned)[:, None]
    level: Floats = np.where(flat, completed(binned), 0.0).sum(axis=1) / flat.sum(axis=1)
    return level


def means(readings: PeriodicReadings, start: Floats, end: float) -> Floats:
    """Return [rows, BINS], means over equal parts of each row's range; NaN: no reading."""
    at, value = readings.at, readings.value
    begin = start[:, None]
    inside = (at >= begin) & (at <= end) & np.isfinite(value)
    part = np.where(inside, (at - begin) / (end - begin) * BINS, 0).astype(np.int64)
    flat = np.arange(len(at))[:, None] * BINS + np.minimum(part, BINS - 1)
    size = len(at) * BINS
    count = np.bincount(flat[inside], minlength=size).reshape(-1, BINS)
    # Sums of what is beyond the row's first value keep the digits of small growth.
    base = np.where(inside.any(axis=1), value[np.arange(len(at)), inside.argmax(axis=1)], 0.0)
    beyond = np.where(inside, value - base[:, None], 0.0)[inside]
    total = np.bincount(flat[inside], weights=beyond, minlength=size).reshape(-1, BINS)
    return np.where(count > 0, base[:, None] + total / np.maximum(count, 1), np.nan)


def slopes(binned: Floats) -> tuple[Floats, Floats, Floats]:
    """Return [rows] slope and its 95 % interval, a part; NaN where it is not significant."""
    first, second = np.triu_indices(binned.shape[1], 1)
    with np.errstate(invalid="ignore"):
        slopes = (binned[:, second] - binned[:, first]) / (second - first)
    count = np.isfinite(binned).sum(axis=1)
    pairs = count * (count - 1) // 2
    spread = np.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    trend = np.nansum(np.sign(slopes), axis=1)
    ordered = np.sort(slopes, axis=1)  # NaN last
    rows = np.arange(len(binned))

    def at(place: Floats) -> Floats:
        kept = np.clip(place, 0, np.maximum(pairs - 1, 0)).astype(np.int64)
        values: Floats = ordered[rows, kept]
        return values

    middle = (at((pairs - 1) / 2) + at(pairs / 2)) / 2
    low = at(np.floor((pairs - 1.96 * spread) / 2))
    high = at(np.ceil((pairs + 1.96 * spread) / 2))
    needed = np.minimum(SIGNIFICANCE * spread, 0.8 * pairs)
    valid = (count >= FEWEST_BINS) & (trend >= needed)
    return tuple(np.where(valid, values, np.nan) for values in (middle, low, high))  # type: ignore[return-value]


def knee(binned: Floats) -> Ints:
    """Return [rows], the part at which growth became faster than before; 0 where it did not.

    The line with one knee that fits best, where it fits far better than a line without.
    """
    filled = completed(binned)
    filled = filled - filled[:, :1]
    straight = _left(filled, _misses(None))
    left = np.stack([_left(filled, _misses(place)) for place in KNEES])
    best = np.array(KNEES)[left.argmin(axis=0)]
    rows = np.arange(len(filled))
    before = (filled[rows, best] - filled[:, 0]) / best
    after = (filled[:, -1] - filled[rows, best]) / (BINS - 1 - best)
    bent = (BENT * left.min(axis=0) < straight) & (after > FASTER * np.maximum(before, 0.0))
    places: Ints = np.where(bent, best, 0)
    return places


KNEES = tuple(range(2, BINS - 3))
"""Parts at which a knee is looked for: three parts on each side."""


@cache
def _misses(place: int | None) -> Floats:
    """Return [BINS, BINS], what a line leaves of values, with a knee at a part."""
    at = np.arange(BINS, dtype=np.float64)
    columns = [np.ones(BINS), at, *(() if place is None else (np.maximum(at - place, 0.0),))]
    basis = np.linalg.qr(np.stack(columns, axis=1))[0]
    misses: Floats = np.eye(BINS) - basis @ basis.T
    return misses


def _left(values: Floats, misses: Floats) -> Floats:
    left: Floats = ((values @ misses) ** 2).sum(axis=1)
    return left


def goes_on(binned: Floats, least: Floats, risen: int) -> Flags:
    """Return [rows], whether growth is spread over the range and reaches into its newest quarter.

    A resize is one jump or two; memory that came back down or stays does not grow.
    """
    filled = completed(binned)
    rises = np.diff(filled, axis=1)
    total = filled[:, -1] - filled[:, 0]
    spread = (rises > 0.03 * total[:, None]).sum(axis=1) >= risen
    single = rises.max(axis=1) <= 0.5 * total
    quarter = filled[:, -1] - filled[:, -1 - BINS // 4]
    goes_on: Flags = (
        (total >= least) & spread & single & (quarter >= 0.1 * total)
        & (filled[:, -1] >= filled.max(axis=1) - 0.1 * total)
    )  # fmt: skip
    return goes_on


def halves(filled: Floats) -> tuple[Floats, Floats]:
    """Return [rows], growth of the second half of a range, and how many times that of the first.

    filled: bins without gaps. As much noise as neighbouring parts differ by is granted to what
    grows on.
    """
    half = BINS // 2
    bent = np.abs(np.diff(filled, 2, axis=1))
    noise = 2 * medians.OF_MAD * medians.of_rows(bent) / np.sqrt(6.0)
    first = filled[:, half] - filled[:, 0]
    second = filled[:, -1] - filled[:, half - 1]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return second, (second + noise) / np.maximum(first - noise, 1e-9)


def levels_off(newest: Floats, second: Floats, ratio: Floats, limit: Floats) -> Flags:
    """Return [rows], whether growth slows down so that it ends below the limit.

    From the newest level on in the proportion of the halves.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        ends_at = newest + second * ratio / np.maximum(1 - ratio, 1e-9)
    levels: Flags = (ratio < STRAIGHT) & (ends_at < limit)
    return levels


def decay(ratio: Floats, seconds: Floats) -> Floats:
    """Return [rows], the share by which growth becomes slower a second; 0 where it does not.

    ratio: of the halves of a range of so many seconds.
    """
    apart = HALVES_APART * seconds / BINS
    return np.where(ratio < STRAIGHT, -np.log(np.clip(ratio, 1e-3, 1.0)) / apart, 0.0)


def completed(binned: Floats) -> Floats:
    """Return the bins without gaps: between two, the line; before and after, the nearest."""
    filled = binned.copy()
    places = np.arange(binned.shape[1])
    for row in np.flatnonzero(np.isnan(binned).any(axis=1)):
        known = np.isfinite(binned[row])
        filled[row] = np.interp(places, places[known], binned[row, known]) if known.any() else 0.0
    return filled
