"""What was usual before: levels of the past in blocks, so that what lasts does not become usual."""

import numpy as np

from ..window import Floats, PeriodicReadings

BLOCK_SECONDS = 60.0

GAP = 3
"""So many blocks in a row below the limit end what was over it: congestion comes and goes."""

_MOST_CELLS = 1 << 20
"""Rows are compared with blocks so many cells at a time: all ports of a large job at once would
take hundreds of MiB."""

QUIET = 0.25
"""Quantile of the blocks that counts as usual: trouble may fill most of what is held."""


def blocks(readings: PeriodicReadings, end: float, past: float, *, counter: bool) -> Floats:
    """Return [rows, blocks], the level in each block of `past` seconds before `end`, oldest first.

    The mean of a gauge, the rate of a counter; NaN where a block has no readings. The last block
    before `end` is left out: what is found now may have begun in it.
    """
    count = max(int(past / BLOCK_SECONDS) - 1, 1)
    first = end - (count + 1) * BLOCK_SECONDS
    held = readings.between(first, end)
    starts: Floats = np.array([first + number * BLOCK_SECONDS for number in range(count)])
    level = _rates if counter else _means
    rows, columns = held.at.shape
    together = max(_MOST_CELLS // (count * max(columns, 1)), 1)
    return np.concatenate(
        [
            level(held.at[row : row + together], held.value[row : row + together], starts)
            for row in range(0, max(rows, 1), together)
        ]
    )


def _means(at: Floats, value: Floats, starts: Floats) -> Floats:
    """Return [rows, blocks], the mean of the readings in (start, start + BLOCK_SECONDS]."""
    known = np.isfinite(value)[:, None, :]
    begin, at = starts[None, :, None], at[:, None, :]
    inside = (at > begin) & (at <= begin + BLOCK_SECONDS) & known
    count = inside.sum(axis=2)
    total = np.where(inside, value[:, None, :], 0.0).sum(axis=2)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _rates(at: Floats, value: Floats, starts: Floats) -> Floats:
    """Return [rows, blocks], the growth per second in [start, start + BLOCK_SECONDS].

    As `Readings.rate` of each block: a counter that went backwards began again.
    """
    known = np.isfinite(value)
    at = np.where(known, at, np.nan)
    order = np.argsort(at, axis=1, kind="stable")
    at = np.take_along_axis(at, order, axis=1)
    value = np.take_along_axis(np.where(known, value, 0.0), order, axis=1)
    growth, seconds = np.diff(value, axis=1), np.diff(at, axis=1)
    growth = np.where(growth < 0, value[:, 1:], growth)[:, None, :]
    begin = starts[None, :, None]
    inside = (at[:, None, :-1] >= begin) & (at[:, None, 1:] <= begin + BLOCK_SECONDS)
    total = np.where(inside, growth, 0.0).sum(axis=2)
    whole = np.where(inside, seconds[:, None, :], 0.0).sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(whole > 0, total / whole, np.nan)
    return found


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
