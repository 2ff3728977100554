"""Short pieces of work in blocks: a value a block, which what others do meanwhile hardly moves.

What others do makes a piece slower and none faster, so of a block the rate counts that one in
twenty of its pieces reaches. What differs from block to block is where its memory and its file lie:
each block has its own, and the value is the median of the blocks. A slow device is slow in every
piece.
"""

import contextlib
import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from .rows import MOST_SAMPLES, CheckOrder, standard_error

BLOCK_SECONDS = 0.35
FEWEST_BLOCKS = 8
"""From so many on, how much they differ is known well enough to stop."""
PRECISE = 0.01
"""Standard error, as a share of the value, at which more blocks would settle nothing more."""
_FEWEST_PIECES = 8
_UNDISTURBED = 0.95

Piece = Callable[[], float]
"""Works for some milliseconds at most, and returns its rate."""


def measured(
    prepared: Callable[[], AbstractContextManager[Piece]],
    order: CheckOrder,
    now: Callable[[], float],
) -> tuple[float, ...]:
    """Return a rate a block, in the order of time.

    They are measured for `order.seconds`, and on until they are precise or `order.longest` is over.
    prepared: makes ready what one block works on; how long that takes does not count as its rate.
    """
    begun = now()
    longest = max(order.longest, order.seconds)
    found: list[float] = []
    while len(found) < MOST_SAMPLES:
        gone = now() - begun
        if len(found) > 1 and gone >= longest:
            break
        if len(found) >= FEWEST_BLOCKS and gone >= order.seconds and _precise(found):
            break
        with prepared() as piece:
            piece()  # libraries load, pages are mapped
            found.append(_undisturbed(piece, now))
    return tuple(found)


def always(piece: Piece) -> Callable[[], AbstractContextManager[Piece]]:
    """Return what prepares a piece that needs nothing anew for each block."""
    return lambda: contextlib.nullcontext(piece)


def _precise(values: Sequence[float]) -> bool:
    return standard_error(values) <= PRECISE * abs(statistics.median(values))


def _undisturbed(piece: Piece, now: Callable[[], float]) -> float:
    end = now() + BLOCK_SECONDS
    rates: list[float] = []
    while len(rates) < _FEWEST_PIECES or now() < end:
        rates.append(piece())
    rates.sort()
    return rates[int(_UNDISTURBED * (len(rates) - 1))]
