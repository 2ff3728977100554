"""What an answer is expected to tell: the fall of the entropy over what may be true, in bits."""

import math
from collections.abc import Sequence


def expected_gain(shares: Sequence[float], positive: Sequence[float]) -> float:
    """Return by how many bits a question with two answers is expected to narrow shares down.

    shares: how probable each possibility is, summing to 1. positive: how probable the one answer is
    where that possibility is the true one.

    >>> expected_gain([0.5, 0.5], [1.0, 0.0]), expected_gain([0.5, 0.5], [0.9, 0.9])
    (1.0, 0.0)
    """
    after = 0.0
    for outcome in (positive, [1 - chance for chance in positive]):
        joint = [share * chance for share, chance in zip(shares, outcome, strict=True)]
        happens = math.fsum(joint)
        if happens > 0:
            after += happens * _entropy([value / happens for value in joint])
    return max(_entropy(shares) - after, 0.0)


def _entropy(shares: Sequence[float]) -> float:
    return -math.fsum(p * math.log2(p) for p in shares if p > 0)
