"""The peers that a rank's values are compared with: their level, their noise, their excursions."""

from dataclasses import dataclass

import numpy as np

from .. import compute_time, medians
from ..window import Floats, Ints

FEWEST = 4
"""Ranks without which there is no noise between peers in a single step."""

REFERENCE = 256
"""Peers that the level and the noise are taken of."""

NEWEST, FEWEST_EARLY = 16, 16
"""Points that must be off together; points before them that show a rank's habit."""

RUN, RUNS = 8, 8
"""Points whose median is one, where peers are few; newest such runs that are off together."""

EXCURSION = 2.0
"""A rank has to be off by so many times the farthest that peers have been and came back from."""


@dataclass(frozen=True, slots=True)
class PeerOffset:
    """One rank that is off: [points] distances to peers in units of batch noise, and where.

    offset: in units of the value. share: of the peers' level. certain: there are peers enough to
    know that data does not do this to a rank.
    """

    row: int
    distance: Floats
    columns: Ints
    offset: float
    share: float
    certain: bool = True


def excursions(plane: Floats, rows: Ints, count: int) -> float:
    """Return how far peers have been for `count` points in a row and came back, in units of noise.

    The farthest run of any of them: data that comes in runs.
    """
    others = chosen(rows)
    if len(others) < FEWEST - 1:
        return 0.0
    columns = np.flatnonzero(np.isfinite(plane[others]).sum(axis=0) >= FEWEST - 1)
    columns = columns[len(columns) % count :]
    if len(columns) < 2 * count:
        return 0.0
    level, noise = reference(plane, others, columns)
    if not noise > 0:
        return 0.0
    distance = (finite(plane[others][:, columns]) - level) / noise
    runs = medians.median(distance.reshape(len(others), -1, count), axis=2)
    runs -= medians.median(runs, axis=1)[:, None]
    both = np.minimum(np.abs(runs[:, 1:]), np.abs(runs[:, :-1]))
    return float(np.max(both, initial=0.0, where=np.isfinite(both)))


def runs(values: Floats) -> Floats:
    """Return the median of each RUN values in a row; there are whole runs of them."""
    return medians.median(values.reshape(-1, RUN), axis=1)


def farthest(levels: Floats) -> float:
    """Return how far levels of runs have been for two in a row: data that comes in runs."""
    far = np.abs(levels)
    return float(np.minimum(far[1:], far[:-1]).max())


def reference(plane: Floats, rows: Ints, columns: Ints) -> tuple[Floats, float]:
    """Return (level [columns], noise): the peers' median a step, and how far a peer strays."""
    values = finite(plane[chosen(rows)][:, columns])
    level = medians.median(values, axis=0)
    strays = medians.median(np.abs(values - level), axis=0)
    strays = strays[np.isfinite(strays)]
    return level, medians.OF_MAD * medians.middle(strays) if len(strays) else 0.0


def chosen(rows: Ints) -> Ints:
    """Return so many rows that a median of them is one of all."""
    if len(rows) <= REFERENCE:
        return rows
    return rows[np.linspace(0, len(rows) - 1, REFERENCE).astype(np.int64)]


def finite(values: Floats) -> Floats:
    """Return values as float64, NaN where they are not finite or a sender's mistake."""
    return np.where(np.abs(values) < compute_time.MOST, values, np.nan).astype(np.float64)
