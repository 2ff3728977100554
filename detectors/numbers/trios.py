"""Of three ranks the one whose values leave those of the other two, for long.

Three values of a step tell no noise, and their median is one of them. So each rank is compared with
the mean of the other two, and the noise is that of the difference between these two over all steps.
What they differed by at first is the habit of their data, taken as a difference and as a factor,
because a loss that falls changes one of them; without such a past nobody is named. Two peers also
show little of what data does to a healthy rank: where it comes in runs, the first run of another
kind looks like a fault for as long as it lasts. So a rank is off only after 64 points, each run of
which has left the other two, while these have stayed together. Data in runs of hundreds of steps
would still look alike: an offset that came at once is no more than worth knowing.
"""

import numpy as np

from .. import medians
from ..window import Floats, Ints
from . import peers
from .peers import EXCURSION, FEWEST_EARLY, NEWEST, RUN, RUNS, PeerOffset

RANKS = 3

EARLY_RUNS = 4
"""Runs before those that are off, at least."""

APART = 2.0
"""A rank is off by so many times what the other two have moved apart."""


def off(plane: Floats, rows: Ints, *, sigmas: float, least: float) -> PeerOffset | None:
    """Return the one of three ranks that is off; None: nobody is.

    plane: [ranks, steps]. sigmas: standard errors of the difference of two medians, the newest and
    the early. least: smallest offset as a share of the level.
    """
    values = peers.finite(plane[rows])
    columns = np.flatnonzero(np.isfinite(values).all(axis=0))
    columns = columns[len(columns) % RUN :]
    if len(columns) < RUN * (RUNS + EARLY_RUNS):
        return None
    if columns[-NEWEST] < plane.shape[1] - 4 * NEWEST:
        return None
    values = values[:, columns]
    factors = np.log(values) if values.min() > 0 else None
    for place in range(RANKS):
        middle = abs(medians.middle(np.delete(values, place, axis=0)[:, -NEWEST:]))
        away = _away(values, place, sigmas, least * middle)
        if away is None or (factors is not None and _away(factors, place, sigmas, least) is None):
            continue
        distance, offset = away
        share = abs(offset) / max(middle, 1e-12)
        return PeerOffset(int(rows[place]), distance, columns, offset, share, certain=False)
    return None


def _away(values: Floats, place: int, sigmas: float, least: float) -> tuple[Floats, float] | None:
    """Return (distances in units of their noise, newest offset); None: not off, or not for long."""
    one, other = np.delete(values, place, axis=0)
    level, apart = (one + other) / 2, one - other
    early = min(values.shape[1] - RUN * RUNS, 4 * FEWEST_EARLY)
    away = values[place] - level
    away, apart = away - np.median(away[:early]), apart - np.median(apart[:early])
    strays = medians.spread(apart) / np.sqrt(2.0)
    noise = np.sqrt(1.5) * max(strays, 1e-6 * abs(medians.middle(level)) + 1e-12)
    offset = medians.middle(away[-NEWEST:])
    limit = max(
        sigmas * medians.OF_MEDIAN * np.sqrt(1 / NEWEST + 1 / early) * noise,
        least,
        APART * abs(medians.middle(apart[-NEWEST:])),
        EXCURSION * peers.farthest(peers.runs(apart)),
    )
    if not abs(offset) > limit:
        return None
    runs = peers.runs(away) * np.sign(offset)
    near = np.flatnonzero(runs <= limit / 2)
    since = int(near[-1]) + 1 if len(near) else 0
    if len(runs) - since < RUNS or since < EARLY_RUNS:
        return None
    if not abs(offset) > EXCURSION * peers.farthest(runs[:since]):
        return None
    return away / noise, offset
