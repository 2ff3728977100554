"""Nanoseconds on the wire, seconds in the house; exact both ways.

`ns / 1e9` rounds twice, and moves one time in eight to its neighbour 0.2 microseconds away; here
the whole seconds are split off first, so that encode and decode give the same float again.
"""

import math

NS = 1_000_000_000
_LARGEST = (1 << 64) - 1


def nanoseconds(at: float) -> int:
    """Return seconds since the epoch in nanoseconds; 0, OTLP's "unknown", for no such time.

    NaN, Inf, negative times and those past the year 2554 cannot be written.
    """
    if not math.isfinite(at) or at <= 0:
        return 0
    whole = int(at)
    # The fraction is a multiple of 2**-52 at worst, and exact as a difference.
    ns = whole * NS + round((at - whole) * NS)
    return ns if ns <= _LARGEST else 0


def seconds(ns: int) -> float:
    """Return nanoseconds since the epoch as seconds."""
    whole, rest = divmod(ns, NS)
    return whole + rest / 1e9
