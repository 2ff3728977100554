"""Which planes a job's ranks and hosts read: its own, and those of its hosts' node telemetry.

Node telemetry joins ranks by (host, pid) and (host, device), whether or not it carries a job id.
Processes that are no rank, and contexts on devices, have rows of their own.
"""

import numpy as np

from ...detectors.window import Ints
from .attempt import JobAttempt, NodePlanes
from .attributes import NO
from .layout import TopologyLayout
from .parts import PlanePart
from .placing import SeriesPlacer
from .plane_data import NOBODY
from .planes import MetricPlane
from .readings import JoinedPlanes, JoinedProcesses, PartsByName


def joined(attempt: JobAttempt, layout: TopologyLayout, placing: SeriesPlacer) -> JoinedPlanes:
    """Return the planes of an attempt, those of last time where no series or rank was added."""
    nodes = placing.nodes.version_of_host
    versions = (
        *layout.versions,
        attempt.version,
        sum(nodes.get(host, 0) for host in layout.host_ids.tolist()) if nodes else 0,
    )
    if attempt.joined is not None and attempt.joined.versions == versions:
        return attempt.joined
    ranks: dict[str, list[PlanePart]] = {}
    hosts: dict[str, list[PlanePart]] = {}
    processes = _ProcessRows(attempt, layout, placing)
    everyone = np.arange(len(layout.ranks))
    for plane in attempt.readings.planes:
        plane.fit(len(everyone))
        ranks.setdefault(plane.name, []).append(PlanePart(plane, everyone))
    for rows in (attempt.nodes, placing.nodes):
        if not rows.rows:
            continue
        by_device, by_pid, by_worker, by_host = _rows(rows, attempt, layout, placing)
        processes.add(rows)
        for plane in rows.planes.planes:
            for index, found in (
                (by_pid, ranks), (by_device, ranks), (by_worker, ranks), (by_host, hosts),
            ):  # fmt: skip
                used = _claimed(plane, index)
                if used is not None:
                    found.setdefault(plane.name, []).append(PlanePart(plane, used))
    made = JoinedPlanes(
        versions,
        PartsByName({name: tuple(parts) for name, parts in ranks.items()}),
        PartsByName({name: tuple(parts) for name, parts in hosts.items()}),
        processes.joined(),
    )
    attempt.joined = made
    return made


class _ProcessRows:
    """Gathers the rows of processes on a job's hosts: workers of its ranks, contexts on devices."""

    def __init__(self, attempt: JobAttempt, layout: TopologyLayout, placing: SeriesPlacer) -> None:
        self._attempt, self._pairs = attempt, placing.attributes.pairs
        self._host_ids = layout.host_ids.tolist()
        pids, hosts = layout.pids.tolist(), layout.host_of.tolist()
        self._row_of_pid = {
            key: row for row, key in enumerate(zip(hosts, pids, strict=True)) if key[1] >= 0
        }
        self._numbers: dict[tuple[int, int, str | None], int] = {}
        self._ranks: list[int] = []
        self._found: list[tuple[NodePlanes, list[tuple[int, int]]]] = []

    def add(self, nodes: NodePlanes) -> None:
        """Take the processes that some node telemetry reports."""
        held: list[tuple[int, int]] = []
        for index, host in enumerate(self._host_ids):
            for pid, device, row in nodes.processes_of.get(host, ()):
                own = self._row_of_pid.get((index, pid), -1)
                if own >= 0 and device < 0:
                    continue  # the trainer itself: it joins its rank
                hw_id = str(self._pairs[device][1]) if device >= 0 else None
                number = self._numbers.setdefault((index, pid, hw_id), len(self._numbers))
                if number == len(self._ranks):
                    self._ranks.append(own)
                if self._ranks[number] < 0 and nodes is self._attempt.nodes:
                    worked_for = self._attempt.placements.row(nodes.rank_of.get(row, -1))
                    self._ranks[number] = -1 if worked_for is None else worked_for
                held.append((number, row))
        self._found.append((nodes, held))

    def joined(self) -> JoinedProcesses:
        parts: dict[str, list[PlanePart]] = {}
        for nodes, held in self._found:
            rows = np.full(len(self._numbers), -1)
            for number, row in held:
                rows[number] = row
            for plane in nodes.planes.planes:
                used = _claimed(plane, rows)
                if used is not None:
                    parts.setdefault(plane.name, []).append(PlanePart(plane, used))
        return JoinedProcesses(
            host=np.array([host for host, _, _ in self._numbers], np.int64),
            pid=np.array([pid for _, pid, _ in self._numbers], np.int64),
            row=np.array(self._ranks, np.int64),
            hw_ids=tuple(hw_id for _, _, hw_id in self._numbers),
            parts=PartsByName({name: tuple(found) for name, found in parts.items()}),
        )


def _rows(
    nodes: NodePlanes, attempt: JobAttempt, layout: TopologyLayout, placing: SeriesPlacer
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the node rows of [ranks] by device, by process and by worker, and of [hosts]."""
    by_device = np.full(len(layout.ranks), -1)
    by_pid = np.full(len(layout.ranks), -1)
    by_host = np.full(len(layout.host_ids), -1)
    pairs = placing.attributes.pairs
    rank_hosts = layout.host_of.tolist()
    hw_ids, pids = attempt.placements.hw_ids, layout.pids.tolist()
    device_of: dict[tuple[int, object], int] = {}
    pid_of: dict[tuple[int, int], int] = {}
    worker_of = np.full(len(layout.ranks), -1)
    for row, (host, hw_id, pid) in enumerate(zip(rank_hosts, hw_ids, pids, strict=True)):
        if hw_id:
            device_of[host, hw_id] = row
        if pid >= 0:
            pid_of[host, pid] = row
    for index, host in enumerate(layout.host_ids.tolist()):
        for pid, device, row in nodes.of_host.get(host, ()):
            if pid == NO and device == NO:
                by_host[index] = row
                continue
            found = pid_of.get((index, pid)) if pid >= 0 else None
            if found is not None:
                if device < 0 or pairs[device][1] == hw_ids[found] or by_pid[found] < 0:
                    by_pid[found] = row
            elif pid >= 0 and device < 0 and row in nodes.rank_of and nodes is attempt.nodes:
                # One of the rank's workers stands for them where a rank is asked for.
                found = attempt.placements.row(nodes.rank_of[row])
                if found is not None and worker_of[found] < 0:
                    worker_of[found] = row
            elif device >= 0:
                found = device_of.get((index, pairs[device][1]))
                if found is not None and (pid == NO or pids[found] < 0):
                    by_device[found] = row
    return by_device, by_pid, worker_of, by_host


def _claimed(plane: MetricPlane, rows: Ints) -> Ints | None:
    """Return the rows that a series writes to, -1 for the others; None where there is none."""
    inside = (rows >= 0) & (rows < len(plane.source))
    inside[inside] = plane.source[rows[inside]] != NOBODY
    return np.where(inside, rows, -1) if inside.any() else None
