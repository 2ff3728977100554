"""Of two ranks the one whose values left its own past, while the other's went on.

Two values of a step have no majority. But both ranks train the same model: what moves its loss
moves both, so the difference of their logarithms keeps to a habit. Where that leaves its habit at
once and for good, one of the two has moved: the one whose own level jumped where the difference
did, if the other's did not. It takes a past as long as what is off, 64 points, for nothing else
shows what data does to a healthy rank. A rank whose data changes for longer than that looks the
same, so an offset is no more than worth knowing. One that grows little by little is nobody's: over
so long the level moves by itself.
"""

import numpy as np

from .. import medians
from ..window import Floats, Ints
from . import peers, shapes
from .peers import EXCURSION, FEWEST_EARLY, NEWEST, RUN, RUNS, PeerOffset

RANKS = 2

BESIDE = 4
"""Runs on each side of the jump that say what either rank's own level did."""

STAYED = 0.25
"""The other rank's level may move by such a share of the offset: a loss falls."""


def off(plane: Floats, rows: Ints, *, sigmas: float, least: float) -> PeerOffset | None:
    """Return the one of two ranks that is off; None: neither is, or nobody can tell which.

    plane: [ranks, steps]. sigmas: standard errors of a difference of two medians. least: smallest
    offset as a share of the level.
    """
    values = peers.finite(plane[rows])
    columns = np.flatnonzero((values > 0).all(axis=0))
    columns = columns[len(columns) % RUN :]
    if len(columns) < 2 * RUN * RUNS or columns[-NEWEST] < plane.shape[1] - 4 * NEWEST:
        return None
    levels = np.log(values[:, columns])
    apart = levels[0] - levels[1]
    early = min(len(columns) - RUN * RUNS, 4 * FEWEST_EARLY)
    apart = apart - np.median(apart[:early])
    noise = _noise(apart)
    offset = medians.middle(apart[-NEWEST:])
    limit = sigmas * medians.OF_MEDIAN * np.sqrt(1 / NEWEST + 1 / early) * noise
    if not abs(offset) > max(limit, least):
        return None
    place = _jumped(levels, peers.runs(apart), offset, sigmas)
    if place is None or shapes.of(apart / noise).came != "at once":
        return None
    distance = (1 - 2 * place) * apart / noise
    newest = np.exp(medians.of_rows(levels[:, -NEWEST:]))
    habit = newest[place] / np.exp((1 - 2 * place) * offset)
    share = abs(float(newest[place] - habit)) / max(float(habit), 1e-12)
    return PeerOffset(
        int(rows[place]), distance, columns, float(newest[place] - habit), share, certain=False
    )


def _jumped(levels: Floats, runs: Floats, offset: float, sigmas: float) -> int | None:
    """Return which of the two has jumped where they parted; None: both, neither, or not for long.

    levels: [2, points] logarithms. runs: medians of their difference, less its habit.
    """
    near = np.flatnonzero(runs * np.sign(offset) <= abs(offset) / 2)
    since = int(near[-1]) + 1 if len(near) else 0
    if since < RUNS or len(runs) - since < RUNS:
        return None
    if not abs(offset) > EXCURSION * peers.farthest(runs[:since]):
        return None
    # The runs on both sides of the place hold some of either level.
    own = np.stack([peers.runs(one) for one in levels])
    before = own[:, since - 1 - BESIDE : since - 1]
    moved = medians.of_rows(own[:, since + 1 : since + 1 + BESIDE]) - medians.of_rows(before)
    place = int(np.argmax(np.abs(moved)))
    error = medians.OF_MEDIAN * np.sqrt(2 / (BESIDE * RUN)) * _noise(levels[place])
    jumped = abs(moved[place]) > max(sigmas * error, abs(offset) / 2)
    stayed = abs(moved[1 - place]) <= STAYED * abs(offset)
    return place if jumped and stayed else None


def _noise(values: Floats) -> float:
    """Return how far single points stray, by neighbours: no level that moved adds to it."""
    strays = medians.OF_MAD * medians.middle(np.abs(np.diff(values))) / np.sqrt(2.0)
    return float(max(strays, 1e-9))
