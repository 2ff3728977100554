"""Who waits for whom: in a synchronising collective everybody waits for the last to arrive.

The last to arrive waits least itself, so no clock is needed: at each step the member with the
shortest wait in collectives is the one that was awaited, and the others waited for it as much
longer as their waits were. Ranks of one pipeline stage are compared with each other only.
"""

from dataclasses import dataclass

import numpy as np

from ...detectors.window import Floats, Ints, JobWindow
from ...vocabulary.answers.figures import AwaitedRank

WAITING = "training.comm.duration"
MOST_NAMES = 64
"""More ranks than this are shown by host, and of hosts those that are awaited most."""

MOST_AWAITED = 10


@dataclass(frozen=True, slots=True)
class HostWaits:
    """seconds: [waiting, awaited], summed over `steps` and over the ranks of a host; `by` names."""

    by: str
    names: list[str]
    seconds: Floats
    steps: int
    awaited: list[AwaitedRank]


def waits(window: JobWindow, *, start: float, end: float) -> HostWaits | None:
    """Return who waited for whom in [start, end], None where no waits are reported."""
    plane = window.steps.planes.get(WAITING)
    if plane is None or not plane.size:
        return None
    ended = np.fmax.reduce(window.steps.at, axis=0, initial=-np.inf)
    held = plane[:, (ended >= start) & (ended <= end)]
    held = np.where(np.isfinite(held), held, np.nan)
    held = held[:, np.isfinite(held).sum(axis=0) > 1]
    if not held.shape[1]:
        return None
    places, by, names = _places(window)
    sums = _WaitSums(
        np.zeros((len(names), len(names))), np.zeros(len(held)), np.zeros(len(held), int)
    )
    stages = np.frombuffer(window.topology.pp, np.int64)
    for stage in np.unique(stages):
        _add(np.flatnonzero(stages == stage), held, places, sums)
    order = np.argsort(-sums.awaited, kind="stable")[:MOST_AWAITED].tolist()
    awaited = [
        AwaitedRank(
            rank=int(window.ranks[row]),
            host=window.host_name(row),
            seconds=float(sums.awaited[row]),
            steps=int(sums.last[row]),
        )
        for row in order
        if sums.awaited[row] > 0
    ]
    shown = np.sort(np.argsort(-sums.between.sum(axis=0), kind="stable")[:MOST_NAMES])
    between = sums.between[np.ix_(shown, shown)]
    return HostWaits(by, [names[row] for row in shown.tolist()], between, held.shape[1], awaited)


@dataclass(frozen=True, slots=True)
class _WaitSums:
    """between: [places, places] waiting, awaited. awaited, last: [rows] seconds, steps."""

    between: Floats
    awaited: Floats
    last: Ints


def _places(window: JobWindow) -> tuple[Ints, str, list[str]]:
    """Return [rows] which row of the matrix each rank counts in, what these are, their names."""
    if len(window.ranks) > MOST_NAMES:
        return window.host_of, "host", list(window.hosts)
    places = np.empty(len(window.ranks), np.int64)
    order = np.argsort(window.ranks)
    places[order] = np.arange(len(order))
    return places, "rank", [str(rank) for rank in window.ranks[order].tolist()]


def _add(rows: Ints, held: Floats, places: Ints, sums: _WaitSums) -> None:
    """Add the waits among the ranks of some rows."""
    mine = held[rows]
    mine = mine[:, np.isfinite(mine).sum(axis=0) > 1]
    if not mine.shape[1]:
        return
    latest = np.argmin(np.where(np.isnan(mine), np.inf, mine), axis=0)
    waited = np.nan_to_num(mine - mine[latest, np.arange(mine.shape[1])])
    placed = places[rows] >= 0
    for member in np.unique(latest).tolist():
        lost = waited[:, latest == member].sum(axis=1)
        sums.awaited[rows[member]] += lost.sum()
        place = int(places[rows[member]])
        if place >= 0:
            np.add.at(sums.between[:, place], places[rows[placed]], lost[placed])
    sums.last[rows] += np.bincount(latest, minlength=len(rows))
