"""Medians, maxima and spreads of arrays in which values are missing: NaN counts nowhere."""

import math

import numpy as np

from .arrays import Floats, Ints

OF_MAD, OF_MEDIAN = 1.4826, 1.2533
"""Of Gaussian values: how many times their median distance from the median the standard deviation
is, and how much farther a median strays than a mean does."""

FEW = 512
"""So many values are sorted sooner than partitioned."""


def median(values: Floats, axis: int) -> Floats:
    """Return the median over an axis, NaN (and no warning) where everything is NaN."""
    if not values.shape[axis]:
        return np.full(np.delete(values.shape, axis), np.nan)
    ordered = np.sort(values, axis=axis)  # NaN last
    size = values.shape[axis]
    last = np.isfinite(ordered.take(size - 1, axis))
    if np.count_nonzero(last) == last.size:  # as mostly: everything is a number
        low: Floats = ordered.take((size - 1) // 2, axis)
        if size % 2:
            return low
        high = ordered.take(size // 2, axis)
        plain: Floats = np.where(low == high, low, (low + high) / 2)
        return plain
    valid = np.isfinite(values).any(axis=axis)
    if np.isnan(ordered.take(size - 1, axis)).any():
        count = np.expand_dims((~np.isnan(values)).sum(axis=axis), axis)
        low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis)
        high = np.take_along_axis(ordered, np.minimum(count // 2, size - 1), axis)
        low, high = np.squeeze(low, axis), np.squeeze(high, axis)
    else:
        low, high = ordered.take((size - 1) // 2, axis), ordered.take(size // 2, axis)
    with np.errstate(invalid="ignore"):
        between = np.where(low == high, low, (low + high) / 2)
    result: Floats = np.where(valid, between, np.nan)
    return result


def middle(values: Floats | Ints) -> float:
    """Return the median of all values, NaN where there is none or one is NaN.

    As numpy's, which takes ten times as long for the few values that a window mostly has.
    """
    count = values.size
    if not count:
        return float("nan")
    half, last = count // 2, count - 1
    if count > FEW:
        ordered = np.partition(values, (max(half - 1, 0), half, last), axis=None)
    else:
        ordered = np.sort(values, axis=None)
    if np.isnan(ordered[last]):
        return float("nan")
    return float(ordered[half] if count % 2 else (ordered[half - 1] + ordered[half]) / 2)


def known(values: Floats) -> float:
    """Return the median of the values that are reported, NaN where none is."""
    return middle(values[np.isfinite(values)])


def of_rows(values: Floats) -> Floats:
    """Return [rows], the median of each row, NaN where one of its values is.

    As numpy's, which takes many times as long: rows are sorted several numbers at a time.
    """
    ordered, count = np.sort(values, axis=1), values.shape[1]
    found = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    result: Floats = np.where(np.isnan(ordered[:, -1]), np.nan, found)
    return result


def spread(values: Floats) -> float:
    """Return how far values stray, robustly: the scaled median distance from the median."""
    valid = values[np.isfinite(values)]
    return OF_MAD * middle(np.abs(valid - middle(valid))) if len(valid) else 0.0


def from_one_to_next(values: Floats) -> float:
    """Return how far single values stray, robustly, by what passes from each to the next.

    As a standard deviation. A drift, or a change of level, moves it little.
    """
    return spread(values[1:] - values[:-1]) / math.sqrt(2)


def highest(values: Floats, axis: int) -> Floats:
    """Return the maximum over an axis, NaN (and no warning) where everything is NaN."""
    valid = np.isfinite(values)
    result: Floats = np.max(np.where(valid, values, -np.inf), axis=axis, initial=-np.inf)
    return np.where(valid.any(axis=axis), result, np.nan)
