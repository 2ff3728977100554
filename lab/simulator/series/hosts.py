"""The series of every host: CPUs, memory, clock, its network port."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, attributes
from .. import memory
from ..placement import switch_name
from ..site import Site
from ..training import Attempt
from . import Series
from .readings import ticks, used
from .resources import of_node

Array = NDArray[np.float64]
MEMORY = 512 * 2.0**30
LINK = 50e9
"""Bytes a second of a host's port: 400 Gbit/s."""


def series(attempts: Sequence[Attempt], site: Site) -> list[Series]:
    """Return the host series of a recording; a lost host speaks no more."""
    found: list[Series] = []
    for host in range(site.cluster.hosts):
        found += _host(attempts, site, host)
    return found


def _host(attempts: Sequence[Attempt], site: Site, host: int) -> list[Series]:
    cluster, reporting = site.cluster, site.reporting
    random = np.random.default_rng([site.seed, 13, host])
    at = ticks(0.0, site.seconds, reporting.node, float(site.phases[host]))
    every = [site.conditions(float(moment)) for moment in at]
    at = at[[not state.silent[host] for state in every]]
    states = [state for state in every if not state.silent[host]]
    resource = of_node(host, cluster.name, switch_name(cluster, host))
    found: list[Series] = []

    def add(metric: str, value: Array, **pairs: Scalar) -> None:
        if reporting.shows(metric) and len(at):
            found.append(Series(host, resource, metric, attributes(pairs), at, value))

    busy, sent = _work(attempts, host, at, reporting.node)
    neighbours = np.array([state.neighbours[host] for state in states])
    steal = np.array([state.steal[host] for state in states])
    base = busy / cluster.cores + random.uniform(0.01, 0.04, len(at)) + 0.5 * steal
    add("system.cpu.utilization", np.minimum(np.maximum(base, neighbours), 1.0))
    add("system.cpu.logical.count", np.full(len(at), float(cluster.cores)))
    stolen = steal * cluster.cores * 0.5 + random.uniform(0, 0.002, len(at))
    add("system.cpu.steal", np.cumsum(stolen * reporting.node))
    swollen = np.array([state.swollen[host] for state in states])
    swollen = swollen + memory.on_host(attempts, host, at, states)
    held = np.minimum(0.32 + swollen + random.normal(0, 0.003, len(at)), 0.995)
    add("system.memory.usage", np.round(MEMORY * held))
    add("system.memory.limit", np.full(len(at), MEMORY))
    add("system.processes.blocked", random.integers(0, 2, len(at)).astype(float))
    jitter = random.normal(0, 0.0002, len(at))
    add("system.clock.offset", np.full(len(at), site.offsets[host]) + jitter)
    add("system.filesystem.utilization", np.full(len(at), 0.41), mountpoint="/")
    port: dict[str, Scalar] = {"device": "mlx5_0", "port": "1"}
    add("hw.network.up", np.ones(len(at)), **port)
    add("hw.network.bandwidth.limit", np.full(len(at), LINK), **port)
    for direction in ("receive", "transmit"):
        add("hw.network.io", np.round(sent), direction=direction, **port)
    marks = np.array([40.0 if state.congested else 0.02 for state in states]) * reporting.node
    add(
        "hw.network.congestion",
        np.cumsum(random.poisson(marks)).astype(float),
        kind="ecn",
        **port,
    )

    return found


def _work(attempts: Sequence[Attempt], host: int, at: Array, every: float) -> tuple[Array, Array]:
    """Return the CPUs that the host's ranks keep busy, and the bytes they have sent so far."""
    busy, sent = np.zeros(len(at)), np.zeros(len(at))
    for attempt in attempts:
        segments = attempt.segments
        for rank in np.flatnonzero(attempt.seats.host == host).tolist():
            edges = np.array([row[rank] for row in segments.edge])
            cpu = np.array([row[rank] for row in segments.cpu])
            inside = at < attempt.died[rank]
            busy += inside * (used(edges, cpu, at) - used(edges, cpu, at - every)) / every
            ends = np.array([row[rank] for row in attempt.steps.end])
            sent += 1.5e9 * np.searchsorted(ends, at)
    return busy, sent
