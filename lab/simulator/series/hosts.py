"""The series of every host: CPUs, memory, pressure, clock, software."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, attributes
from .. import memory
from ..site import SimulatedSite
from ..training import SimulatedAttempt
from . import SimulatedSeries
from .readings import used
from .resources import of_node

Array = NDArray[np.float64]
SOFTWARE_SECONDS = 60.0
VERSIONS = {
    "kernel": "5.15.0-105-generic",
    "nvidia": "550.54.15",
    "mlx5_core": "24.01-0.3.3",
    "ib_core": "24.01-0.3.3",
    "firmware.MT_0000000838": "28.40.1000",
    "cpu_governor": "performance",
    "transparent_hugepage": "madvise",
    "numa_balancing": "0",
    "cmdline.iommu": "pt",
}
"""What the agent reads of a host's software; the same on every host unless something drifted."""
_DRIVERS = {"amd": ("amdgpu", "6.7.8"), "nvidia": ("nvidia", "550.54.15")}


def series(attempts: Sequence[SimulatedAttempt], site: SimulatedSite) -> list[SimulatedSeries]:
    """Return the host series of a recording; a lost host reports no more."""
    found: list[SimulatedSeries] = []
    for host in range(site.cluster.hosts):
        if len(site.history(host, site.reporting.node).at):
            found += _host(attempts, site, host)
            found += _software(site, host)
    return found


def _host(
    attempts: Sequence[SimulatedAttempt], site: SimulatedSite, host: int
) -> list[SimulatedSeries]:
    cluster, reporting = site.cluster, site.reporting
    every, history = reporting.node, site.history(host, reporting.node)
    random = np.random.default_rng([site.seed, 13, host])
    at, size = history.at, len(history.at)
    resource = of_node(host, cluster.name, site.switch(host))
    found: list[SimulatedSeries] = []

    def add(metric: str, value: Array, where: NDArray[np.bool_] | None = None, **p: Scalar) -> None:
        if not reporting.shows(metric):
            return
        shown = np.ones(size, dtype=bool) if where is None else where
        if shown.any():
            named = attributes(p)
            found.append(SimulatedSeries(host, resource, metric, named, at[shown], value[shown]))

    busy = _work(attempts, host, at, every)
    neighbours: Array = history.one("neighbours")[:, host].astype(float)
    steal: Array = history.one("steal")[:, host].astype(float)
    base = busy / cluster.cores + random.uniform(0.01, 0.04, size) + 0.5 * steal
    usage = np.minimum(np.maximum(base, neighbours), 1.0)
    add("system.cpu.utilization", usage)
    add("system.cpu.logical.count", np.full(size, float(cluster.cores)))
    stolen = steal * cluster.cores * 0.5 + random.uniform(0, 0.002, size)
    add("system.cpu.steal", np.cumsum(stolen * every))
    # Tasks wait for a CPU when more want to run than there are.
    short: Array = 1 - history.one("cpu_share")[:, host].astype(float)
    short = np.maximum(short, 0.6 * steal) + np.maximum(base + neighbours - 1, 0)
    queued = np.clip(0.004 * random.random(size) + 0.02 * usage + short, 0, 1)
    add("system.pressure", np.round(queued, 4), resource="cpu", kind="some")
    add("system.pressure.time", np.cumsum(queued * every), resource="cpu", kind="some")
    swollen: Array = history.one("swollen")[:, host].astype(float)
    swollen = swollen + memory.on_host(attempts, host, at, history.states)
    held = np.minimum(memory.HOST_HELD + swollen + random.normal(0, 0.003, size), 0.995)
    add("system.memory.usage", np.round(memory.HOST_MEMORY * held))
    add("system.memory.limit", np.full(size, memory.HOST_MEMORY))
    lacking = np.clip((held - 0.87) * 8 + 0.001 * random.random(size), 0, 1)
    for kind, share in (("some", lacking), ("full", 0.7 * lacking)):
        add("system.pressure", np.round(share, 4), resource="memory", kind=kind)
        add("system.pressure.time", np.cumsum(share * every), resource="memory", kind=kind)
    drift: Array = history.of("nodes", "clock")[:, host].astype(float)
    known = ~history.of("nodes", "unsynchronised")[:, host].astype(bool)
    jitter = random.normal(0, 0.0002, size)
    add("system.clock.offset", site.offsets[host] + drift + jitter, known)
    return found


def _software(site: SimulatedSite, host: int) -> list[SimulatedSeries]:
    """Return which versions and settings a host has, and until when."""
    if not site.reporting.shows("system.software.info"):
        return []
    history = site.history(host, SOFTWARE_SECONDS)
    resource = of_node(host, site.cluster.name, site.switch(host))
    usual = versions(site.cluster.accelerator)
    there: dict[tuple[str, str], list[float]] = {}
    for moment, state in zip(history.at.tolist(), history.states, strict=True):
        for pair in {**usual, **state.nodes.versions.get(host, {})}.items():
            there.setdefault(pair, []).append(moment)
    return [
        SimulatedSeries(
            host,
            resource,
            "system.software.info",
            attributes({"name": name, "version": version}),
            np.array(moments),
            np.ones(len(moments)),
        )
        for (name, version), moments in there.items()
    ]


def versions(accelerator: str) -> dict[str, str]:
    rest = {name: version for name, version in VERSIONS.items() if name != "nvidia"}
    return {**rest, **dict([_DRIVERS[accelerator]] if accelerator in _DRIVERS else [])}


def _work(attempts: Sequence[SimulatedAttempt], host: int, at: Array, every: float) -> Array:
    """Return the CPUs that the host's ranks keep busy."""
    busy = np.zeros(len(at))
    for attempt in attempts:
        segments = attempt.segments
        for rank in np.flatnonzero(attempt.seats.host == host).tolist():
            edges = np.array([row[rank] for row in segments.edge])
            cpu = np.array([row[rank] for row in segments.cpu])
            inside = at < attempt.died[rank]
            busy += inside * (used(edges, cpu, at) - used(edges, cpu, at - every)) / every
    return busy
