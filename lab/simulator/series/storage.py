"""The series of every host's storage: disks, file systems, how long tasks wait for them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, attributes
from ..nodes import LOCAL_MOUNT, SHARED_MOUNT
from ..site import SimulatedSite
from ..training import SimulatedAttempt
from . import SimulatedSeries
from .resources import of_node

Array = NDArray[np.float64]
DISK_BYTES = 2.5e9
"""Bytes a second of a local disk when it is busy all the time."""


def series(attempts: Sequence[SimulatedAttempt], site: SimulatedSite) -> list[SimulatedSeries]:
    found: list[SimulatedSeries] = []
    for host in range(site.cluster.hosts):
        if len(site.history(host, site.reporting.node).at):
            found += _host(attempts, site, host)
    return found


def _host(
    attempts: Sequence[SimulatedAttempt], site: SimulatedSite, host: int
) -> list[SimulatedSeries]:
    history, every = site.history(host, site.reporting.node), site.reporting.node
    at, random = history.at, np.random.default_rng([site.seed, 24, host])
    resource = of_node(host, site.cluster.name, site.switch(host))
    found: list[SimulatedSeries] = []

    def add(metric: str, value: Array, **pairs: Scalar) -> None:
        if site.reporting.shows(metric):
            found.append(SimulatedSeries(host, resource, metric, attributes(pairs), at, value))

    def of(name: str) -> Array:
        values: Array = history.of("nodes", name)[:, host].astype(float)
        return values

    saving = _saving(attempts, host, at, every)
    busy = np.clip(0.01 + 0.02 * random.random(len(at)) + 0.35 * saving + of("disk"), 0, 1)
    moved = np.cumsum(busy * every) * DISK_BYTES
    add("system.disk.io_time", np.cumsum(busy * every), device="nvme0n1")
    add("system.disk.io", np.round(0.6 * moved), device="nvme0n1", direction="read")
    add("system.disk.io", np.round(0.4 * moved), device="nvme0n1", direction="write")
    root = 0.41 + 0.0002 * np.arange(len(at)) * every / 3600
    add("system.filesystem.utilization", root, mountpoint="/")
    # No two hosts have the same files on their own disks; what they share is alike on all.
    full = np.minimum(of("full"), 1.0)
    full += (1 - full) * np.random.default_rng([site.seed, 25, host]).uniform(-0.15, 0.15)
    add("system.filesystem.utilization", full, mountpoint=LOCAL_MOUNT)
    add("system.filesystem.utilization", np.full(len(at), 0.63), mountpoint=SHARED_MOUNT)
    for mount in ("/", LOCAL_MOUNT, SHARED_MOUNT):
        add("system.filesystem.read_only", np.zeros(len(at)), mountpoint=mount)
    waiting = np.clip(0.004 * random.random(len(at)) + 0.08 * saving + of("waiting"), 0, 1)
    for kind, share in (("some", waiting), ("full", 0.6 * waiting)):
        add("system.pressure", np.round(share, 4), resource="io", kind=kind)
        add("system.pressure.time", np.cumsum(share * every), resource="io", kind=kind)
    blocked = random.poisson(0.15 + 2 * saving + of("blocked")).astype(float)
    add("system.processes.blocked", blocked)
    return found


def _saving(attempts: Sequence[SimulatedAttempt], host: int, at: Array, every: float) -> Array:
    """Return the share of the time before each moment in which a rank of the host saved."""
    share = np.zeros(len(at))
    for attempt in attempts:
        ranks = np.flatnonzero(attempt.seats.host == host)
        if not len(ranks) or not attempt.steps.index:
            continue
        saved = np.array([float(row[ranks].max()) for row in attempt.steps.checkpoint])
        # What is saved after a step ends with it where steps hold pauses, else as the next begins.
        steps = attempt.steps
        until = steps.end if attempt.job.step_holds_pauses else steps.start
        ends = np.array([float(row[ranks].max()) for row in until])
        for seconds, end in zip(saved[saved > 0.5], ends[saved > 0.5], strict=True):
            begin = end - seconds
            share += np.clip(np.minimum(at, end) - np.maximum(at - every, begin), 0, None) / every
    return np.minimum(share, 1.0)
