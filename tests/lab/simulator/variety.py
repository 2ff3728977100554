"""Normal life of clusters: what differs from one to the next, and what looks odd and is not.

`varied` draws it all from a random generator and puts it into any scenario, with a fault or
without. Nothing that it draws is a fault: single symbol errors, corrected memory errors, a device
in warm air, a power cap for all, harmless lines in the kernel's log, clocks up to 100 ms apart, a
host that was just booted, an idle neighbour or a second job, another model in one host, exporters
in the place of our agent, and sources that are missing.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from rankscope.lab.simulator.devices import MODELS
from rankscope.lab.simulator.placement import host_name
from rankscope.lab.simulator.shape import (
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)

SOURCES: dict[str, tuple[str, ...]] = {
    "devices": (
        "hw.gpu.*", "hw.power*", "hw.temperature*", "hw.frequency*", "hw.errors", "hw.energy",
        "hw.status", "gpu.fault",
    ),
    "hosts": ("system.*",),
    "processes": ("process.cpu.*", "process.memory.*", "container.*"),
    "collectives": ("collective.*",),
    "ports": ("hw.network.*", "network.*"),
    "logs": ("log.fault", "scheduler.event", "change"),
}  # fmt: skip
"""What is not reported where a source is missing: metrics and events, as Reporting.hidden."""

_OTHER_MODELS = ((1_755e6, 350.0), (1_410e6, 400.0), (1_830e6, 600.0))
_HOTTEST = 8.0
"""Degrees by which a device may stand in warmer air and never reach its limit."""


def varied(scenario: SimulationScenario, random: np.random.Generator) -> SimulationScenario:
    """Return the scenario in another cluster, reported in another way; its fault stays as it is."""
    cluster = _cluster(scenario.cluster, random)
    jobs, cluster = _jobs(scenario, cluster, random)
    reporting = _reporting(scenario.reporting, cluster, scenario.seconds, random)
    return replace(scenario, cluster=cluster, jobs=jobs, reporting=reporting)


def without(reporting: ReportingHabits, *sources: str) -> ReportingHabits:
    """Return the reporting without these sources, named as in SOURCES."""
    hidden = tuple(name for source in sources for name in SOURCES[source])
    return replace(reporting, hidden=(*reporting.hidden, *hidden))


def _cluster(cluster: SimulatedCluster, random: np.random.Generator) -> SimulatedCluster:
    accelerator: Any = str(
        random.choice(list(MODELS), p=[0.72, 0.08, 0.08, 0.06, 0.06]) if cluster.gpus else "nvidia"
    )
    model = MODELS[accelerator]
    models: tuple[tuple[float, float], ...] = ((model.clock, model.limit),)
    if accelerator == "nvidia" and random.random() < 0.25:
        other = _OTHER_MODELS[int(random.integers(len(_OTHER_MODELS)))]
        models = (*models * (cluster.hosts - 1), other)  # one host has another model
    nics = int(random.choice([one for one in (1, 2, 4, 8) if one <= max(cluster.slots, 1)]))

    def device() -> tuple[int, int]:
        return int(random.integers(cluster.hosts)), int(random.integers(cluster.slots))

    def sometimes(chance: float, low: float, high: float) -> tuple[tuple[int, int, float], ...]:
        if random.random() >= chance:
            return ()
        return ((*device(), float(random.uniform(low, high))),)

    noisy = sometimes(0.4, 0.5, 20.0)
    return replace(
        cluster,
        accelerator=accelerator,
        models=models,
        nics=nics,
        rails=nics > 1 and bool(random.random() < 0.4),
        hosts_per_switch=int(random.choice([2, 4, 8, 16])),
        power_cap=float(random.uniform(0.7, 0.95)) if random.random() < 0.2 else 1.0,
        hot=sometimes(0.3, 3.0, _HOTTEST),
        corrected=sometimes(0.4, 2.0, 200.0),
        noisy_ports=tuple((host, place % nics, rate) for host, place, rate in noisy),
        warnings=float(random.uniform(0.5, 4.0)) if random.random() < 0.4 else 0.0,
        links_rest=bool(random.random() < 0.8),
    )


def _jobs(
    scenario: SimulationScenario, cluster: SimulatedCluster, random: np.random.Generator
) -> tuple[tuple[SimulatedJob, ...], SimulatedCluster]:
    """Return the jobs, perhaps beside an idle half or a second job, perhaps after a boot."""
    jobs = scenario.jobs
    first, half = jobs[0], cluster.slots // 2
    fits = len(jobs) == 1 and not first.slots and half and first.tp <= half and first.pp == 1
    if fits and random.random() < 0.25:
        jobs = (replace(first, slots=tuple(range(half))),)
        if random.random() < 0.6:
            other = replace(
                first,
                name=f"{first.name}-b",
                slots=tuple(range(half, cluster.slots)),
                step_seconds=first.step_seconds * float(random.uniform(0.5, 1.8)),
                starts_after=first.starts_after + float(random.uniform(0, 60)),
                restarts=(),
            )
            jobs = (*jobs, other)
    if random.random() < 0.1 and not first.starts_after:
        booted = float(random.uniform(5, 30))
        host = int(random.integers(cluster.hosts))
        cluster = replace(cluster, booted=((host, booted),))
        later = booted + float(random.uniform(15, 40))
        jobs = tuple(replace(job, starts_after=max(job.starts_after, later)) for job in jobs)
    return jobs, cluster


def _reporting(
    reporting: ReportingHabits,
    cluster: SimulatedCluster,
    seconds: float,
    random: np.random.Generator,
) -> ReportingHabits:
    push = float(random.choice([1.0, 1.0, 1.0, 5.0, 10.0, 15.0]))
    host = int(random.integers(cluster.hosts))
    late: tuple[tuple[int, float, float], ...] = reporting.late
    if random.random() < 0.1:
        begin = float(random.uniform(0.2, 0.8) * seconds)
        late = (*late, (host, begin, begin + float(random.uniform(15, 60))))
    off = {host_name(host): float(random.uniform(-0.1, 0.1))} if random.random() < 0.4 else {}
    by_dcgm = cluster.accelerator == "nvidia" and random.random() < 0.2
    found = replace(
        reporting,
        push=push,
        rank=float(random.choice([5.0, 5.0, 10.0])),
        node=float(random.choice([5.0, 5.0, 10.0, 15.0])),
        clock=float(random.choice([0.001, 0.005, 0.03])),
        clock_off={**reporting.clock_off, **off},
        late=late,
        attributed=bool(random.random() < 0.75) and not by_dcgm,
        collective_statistics=bool(random.random() < 0.3),
        devices="dcgm" if by_dcgm else "agent",
        device_period=float(random.choice([15.0, 30.0])) if by_dcgm else 0.0,
        kernel_log=bool(random.random() < 0.75),
    )
    if random.random() < 0.25:
        found = without(found, str(random.choice(list(SOURCES))))
    return found
