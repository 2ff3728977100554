"""Which planes a job's ranks and hosts read: its own, and those of its hosts' node telemetry.

Node telemetry joins ranks by (host, pid) and (host, device), whether or not it carries a job id.
"""

import numpy as np

from ...detectors.window import Ints
from .attempt import Attempt, NodeRows
from .attributes import NO
from .placing import Placing
from .planes import NOBODY, Plane
from .readings import Joined, Part
from .topology import Layout


def joined(attempt: Attempt, layout: Layout, placing: Placing) -> Joined:
    """Return the planes of an attempt, those of last time where no series or rank was added."""
    nodes = placing.nodes.version_of_host
    versions = (
        *layout.versions,
        attempt.version,
        sum(nodes.get(host, 0) for host in layout.host_ids.tolist()) if nodes else 0,
    )
    if attempt.joined is not None and attempt.joined.versions == versions:
        return attempt.joined
    ranks: dict[str, list[Part]] = {}
    hosts: dict[str, list[Part]] = {}
    everyone = np.arange(len(layout.ranks))
    for plane in attempt.readings.planes:
        plane.fit(len(everyone))
        ranks.setdefault(plane.name, []).append(Part(plane, everyone, whole=True))
    for rows in (attempt.nodes, placing.nodes):
        if not rows.rows:
            continue
        by_rank, by_pid, by_host = _rows(rows, attempt, layout, placing)
        for plane in rows.planes.planes:
            for index, found in ((by_pid, ranks), (by_rank, ranks), (by_host, hosts)):
                used = _claimed(plane, index)
                if used is not None:
                    found.setdefault(plane.name, []).append(Part(plane, used))
    made = Joined(
        versions,
        {name: tuple(parts) for name, parts in ranks.items()},
        {name: tuple(parts) for name, parts in hosts.items()},
    )
    attempt.joined = made
    return made


def _rows(
    nodes: NodeRows, attempt: Attempt, layout: Layout, placing: Placing
) -> tuple[Ints, Ints, Ints]:
    """Return the node rows of [ranks] by device, of [ranks] by process, and of [hosts]."""
    by_device = np.full(len(layout.ranks), -1)
    by_pid = np.full(len(layout.ranks), -1)
    by_host = np.full(len(layout.host_ids), -1)
    pairs = placing.attributes.pairs
    rank_hosts = layout.host_of.tolist()
    hw_ids, pids = attempt.placements.hw_ids, layout.pids.tolist()
    device_of: dict[tuple[int, object], int] = {}
    pid_of: dict[tuple[int, int], int] = {}
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
                by_pid[found] = row
            elif device >= 0:
                found = device_of.get((index, pairs[device][1]))
                if found is not None and (pid == NO or pids[found] < 0):
                    by_device[found] = row
    return by_device, by_pid, by_host


def _claimed(plane: Plane, rows: Ints) -> Ints | None:
    """Return the rows that a series writes to, -1 for the others; None where there is none."""
    inside = (rows >= 0) & (rows < len(plane.source))
    inside[inside] = plane.source[rows[inside]] != NOBODY
    return np.where(inside, rows, -1) if inside.any() else None
