"""Who waits for whom in a job's collectives: the last member of each group, and what it costs.

In a synchronising collective the last to arrive waits least: what the others of a group waited
beyond it is time that they spent on it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints
from ...vocabulary.topology import JobTopology
from .windows import TelemetryWindows

RECENT_STEPS = 20
COMM = "training.comm.duration"


@dataclass(frozen=True, slots=True)
class GroupWait:
    """The rank that a group waits for, and how long its other members wait: s a step, summed."""

    job: str
    kind: str
    group: str
    rank: int
    host: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class _MemberRows:
    """Every group's members as rows, one group after the other: `starts` is where each begins."""

    topology: JobTopology
    groups: tuple[int, ...]
    rows: Ints
    starts: Ints


class WaitReader:
    """Reads waits; keeps where the members of a job's groups are from one reading to the next."""

    def __init__(self) -> None:
        self._held: dict[str, _MemberRows] = {}

    def read(self, windows: TelemetryWindows, *, since: float, most: int) -> list[GroupWait]:
        """Return of each job that reported since then the `most` longest waits, longest first."""
        found: list[GroupWait] = []
        held: dict[str, _MemberRows] = {}
        for attempt in windows.current():
            if attempt.last_received < since:
                continue
            topology = windows.topology(attempt)
            members = self._held.get(attempt.job)
            if members is None or members.topology is not topology:
                members = _members(topology)
            held[attempt.job] = members
            found += _awaited(members, attempt.grid.view().last(RECENT_STEPS).plane(COMM), most)
        self._held = held
        return found


def _members(topology: JobTopology) -> _MemberRows:
    row_of = {rank: row for row, rank in enumerate(topology.ranks)}
    groups: list[int] = []
    rows: list[int] = []
    starts: list[int] = []
    for number, group in enumerate(topology.groups):
        mine = [row_of[rank] for rank in group.ranks if rank in row_of]
        if len(mine) > 1:
            groups.append(number)
            starts.append(len(rows))
            rows += mine
    return _MemberRows(
        topology, tuple(groups), np.array(rows, np.int64), np.array(starts, np.int64)
    )


def _awaited(members: _MemberRows, comm: Floats, most: int) -> list[GroupWait]:
    topology, rows, starts = members.topology, members.rows, members.starts
    if not len(starts) or not comm.size or len(comm) <= int(rows.max(initial=0)):
        return []
    waited = _mean(comm)[rows]
    complete = ~np.logical_or.reduceat(np.isnan(waited), starts)
    sizes = np.diff(np.append(starts, len(rows)))
    least = np.minimum.reduceat(waited, starts)
    seconds = np.where(complete, np.add.reduceat(waited, starts) - sizes * least, 0.0)
    found = []
    for one in np.argsort(-seconds, kind="stable")[:most].tolist():
        if not seconds[one] > 0:
            break
        begin, end = int(starts[one]), int(starts[one] + sizes[one])
        row = int(rows[begin + int(np.argmin(waited[begin:end]))])
        group = topology.groups[members.groups[one]]
        rank = topology.ranks[row]
        found.append(
            GroupWait(
                topology.job, group.kind, group.name, rank, topology.host(rank), float(seconds[one])
            )
        )
    return found


def _mean(values: Floats) -> NDArray[np.float64]:
    """Return each row's mean over what is there, NaN where nothing is."""
    there = np.isfinite(values)
    count = there.sum(axis=1)
    total = np.where(there, values, 0.0).sum(axis=1, dtype=np.float64)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
