"""How much of the newest past is searched for slow ranks, and what must show in it.

The number of steps follows from the effect: a large one shows in three steps, a small one needs as
many as the noise asks for.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..window import Floats


@dataclass(frozen=True, slots=True)
class SearchScale:
    """So many of the newest steps, or those of so many seconds where they are more.

    least: smallest excess over peers and habit. least_alone: smallest over peers from the first
    step on, where few ranks have it. persistence: share of the steps in which half of it must show.
    certainty: what no noise estimate goes below, as a share of compute time.
    """

    fewest: int
    seconds: float
    least: float
    least_alone: float
    persistence: float
    certainty: float


SHORT = SearchScale(5, 10.0, 0.08, 0.08, 0.7, 0.01)
FEW = SearchScale(3, 10.0, 0.25, 0.25, 1.0, 0.02)
LONG = SearchScale(8, 45.0, 0.04, 0.08, 0.6, 0.005)
MIDDLE = SearchScale(12, 60.0, 0.04, 0.08, 0.6, 0.005)
LONGER = SearchScale(32, 90.0, 0.04, 0.08, 0.55, 0.005)

FIRST = SearchScale(3, 6.0, 0.12, 0.25, 1.0, 0.015)
"""Enough for a first word, which is information; the others make it a warning."""


class SearchScales(NamedTuple):
    """Those that ranks are searched by in turn."""

    short: SearchScale
    long: SearchScale
    few: SearchScale
    longer: SearchScale
    first: SearchScale


@lru_cache
def scales(least: float, least_small: float, fewest: int, seconds: float) -> SearchScales:
    """Return all of them with these limits; none of fewer steps than `fewest` is below `least`."""
    short = replace(_limited(SHORT, least), fewest=fewest, seconds=seconds)
    small = min(least_small, least)
    return SearchScales(
        short=short,
        long=_limited(LONG, small),
        few=_limited(FEW, max(FEW.least, least)),
        longer=_limited(LONGER, small),
        first=_limited(FIRST, max(FIRST.least, least)),
    )


def _limited(scale: SearchScale, least: float) -> SearchScale:
    return replace(scale, least=least, least_alone=max(scale.least_alone, least))


ENDED = 4
"""Of the steps of the longest scale this part, the newest, must show the effect as well."""


def count_of(ends: Floats, scale: SearchScale) -> int:
    """Return how many of the newest steps a scale looks at; ends: [steps], when each ended."""
    valid = ends[np.isfinite(ends)]
    newest = float(valid[-1]) if len(valid) else 0.0
    return max(int((valid > newest - scale.seconds).sum()), scale.fewest)
