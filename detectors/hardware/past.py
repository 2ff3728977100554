"""What was usual before: levels of the past in blocks, so that what lasts does not become usual."""

import numpy as np

from ..window import Floats, Readings

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
    held = readings.between(first, end)
    read = held.rate if counter else held.mean
    starts = [first + number * BLOCK_SECONDS for number in range(count)]
    return np.stack([read(start, start + BLOCK_SECONDS) for start in starts], axis=1)


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
