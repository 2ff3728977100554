"""What was usual before: levels of the past in blocks, so that what lasts does not become usual."""

import numpy as np

from ..arrays import Flags, Floats, Ints
from ..readings import Readings

BLOCK_SECONDS = 60.0

GAP = 3
"""So many blocks in a row below the limit end what was over it: congestion comes and goes."""

QUIET = 0.25
"""Quantile of the blocks that counts as usual: trouble may fill most of what is held."""


def blocks(readings: Readings, end: float, past: float, *, counter: bool) -> Floats:
    """Return [rows, blocks], the level in each block of `past` seconds before `end`, oldest first.

    The mean of a gauge, the rate of a counter; NaN where a block has no readings. The last block
    before `end` is left out: what is found now may have begun in it.
    """
    count = max(int(past / BLOCK_SECONDS) - 1, 1)
    first = end - (count + 1) * BLOCK_SECONDS
    starts = np.array([first + number * BLOCK_SECONDS for number in range(count)])
    held = readings.between(first, end)
    at, value = held.at, held.value
    valid = np.isfinite(at) & np.isfinite(value)
    if not counter:
        number = np.searchsorted(starts, at, side="left") - 1
        # As of a mean: what is read at the beginning belongs to what was before.
        inside = valid & (number >= 0) & (at <= starts[number] + BLOCK_SECONDS)
        total, weight = _sums(inside, number, count, value, np.ones(at.shape))
    else:
        order = np.argsort(np.where(valid, at, np.inf), axis=1, kind="stable")
        at = np.take_along_axis(at, order, axis=1)
        value = np.take_along_axis(value, order, axis=1)
        valid = np.take_along_axis(valid, order, axis=1)
        number = np.searchsorted(starts, at[:, :-1], side="right") - 1
        inside = valid[:, 1:] & (number >= 0) & (at[:, 1:] <= starts[number] + BLOCK_SECONDS)
        with np.errstate(invalid="ignore"):
            growth = value[:, 1:] - value[:, :-1]
            # A counter that went backwards began again.
            growth = np.where(growth < 0, value[:, 1:], growth)
            total, weight = _sums(inside, number, count, growth, at[:, 1:] - at[:, :-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(weight > 0, total / weight, np.nan)


def _sums(
    inside: Flags, number: Ints, count: int, value: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """Return the sums of values and weights by row and block, [rows, blocks] each."""
    rows, columns = np.nonzero(inside)
    cells, size = rows * count + number[rows, columns], len(inside) * count
    total = np.bincount(cells, value[rows, columns], size).reshape(-1, count)
    return total, np.bincount(cells, weight[rows, columns], size).reshape(-1, count)


def usual(levels: Floats) -> Floats:
    """Return [rows], the usual level of the blocks; NaN where none is known."""
    known = np.isfinite(levels)
    ordered = np.sort(np.where(known, levels, np.inf), axis=1)
    place = (QUIET * np.maximum(known.sum(axis=1) - 1, 0)).astype(np.int64)
    found = ordered[np.arange(len(levels)), place]
    return np.where(known.any(axis=1), found, np.nan)


def began(levels: Floats, end: float, seconds: float, limit: float) -> tuple[float, float]:
    """Return the interval in which one row's level rose over a limit and stayed or came again.

    levels: [blocks] as above. seconds: the newest range, which is over the limit.
    """
    first, gap = end, 0
    for back, value in enumerate(levels[::-1].tolist()):
        gap = 0 if value >= limit else gap + 1
        if gap == GAP:
            break
        if gap == 0:
            first = end - (back + 2) * BLOCK_SECONDS
    if first == end:
        return end - BLOCK_SECONDS, end + seconds
    return first - BLOCK_SECONDS, first + BLOCK_SECONDS
