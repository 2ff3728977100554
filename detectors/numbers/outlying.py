"""One rank whose values leave its peers' for single steps, again and again.

A device that computes wrong now and then does not move a median. An odd batch leaves its peers as
far, but odd batches come to all ranks alike.
"""

from dataclasses import dataclass

import numpy as np

from .. import medians
from ..window import Floats, Ints

NEWEST, EARLY = 64, 12
"""Points in which the steps are counted, and points before the first of them without any."""

FEWEST = 5
"""So many single steps on one rank, and at most one on any other."""

SIGMAS, FACTOR = 8.0, 2.0
"""How far out a step is: in units of the noise between peers, and as a factor of their level."""


@dataclass(frozen=True, slots=True)
class OutlyingRank:
    """Row of a rank, and the columns of its outlying steps, ascending."""

    row: int
    columns: Ints
    size: float


def repeated(plane: Floats, rows: Ints) -> OutlyingRank | None:
    """Return the one rank of some rows that left its peers again and again; None: nobody did.

    plane: [ranks, steps], norms above zero, NaN where nobody reported. size: the usual factor.
    """
    values = np.where(plane[rows] > 0, plane[rows], np.nan).astype(np.float64)
    values = np.where(np.isfinite(values), values, np.nan)
    columns = np.flatnonzero(np.isfinite(values).sum(axis=0) >= max(4, len(rows) / 2))
    if len(columns) < EARLY + FEWEST:
        return None
    values = np.log(values[:, columns])
    level = medians.median(values, axis=0)
    away = values - level
    noise = medians.OF_MAD * medians.middle(np.abs(away[np.isfinite(away)]))
    out = away > max(SIGMAS * noise, float(np.log(FACTOR)))
    counts = out[:, -NEWEST:].sum(axis=1)
    place = int(np.argmax(counts))
    others = np.delete(out.sum(axis=1), place)
    first = int(np.argmax(out[place]))
    if counts[place] < FEWEST or first < EARLY or int(others.max(initial=0)) > 1:
        return None
    hits = np.flatnonzero(out[place])
    size = float(np.exp(np.median(away[place, hits])))
    return OutlyingRank(int(rows[place]), columns[hits], size)
