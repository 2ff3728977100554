"""What a fault needs of a scenario: `has_...` refuses one that lacks it, `with_...` gives it one.

A fault lists its needs in the class attribute `needs`; `faults.inject` applies them in that order.
All of them look at the first job, on which faults act.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..shape import ScenarioError, SimulationScenario

Random = np.random.Generator

Need = Callable[[SimulationScenario, Random], SimulationScenario]
"""Returns the scenario, changed or not; raises ScenarioError where the fault cannot occur in it."""


def ranks(scenario: SimulationScenario) -> int:
    """Return how many ranks the first job has."""
    return _hosts(scenario) * _slots(scenario)


def changed(scenario: SimulationScenario, **fields: Any) -> SimulationScenario:
    """Return the scenario with these fields of its first job."""
    job = replace(scenario.jobs[0], **fields)
    return replace(scenario, jobs=(job, *scenario.jobs[1:]))


def has_devices(scenario: SimulationScenario, _random: Random) -> SimulationScenario:
    """Refuse a cluster without devices."""
    if not scenario.cluster.gpus:
        raise ScenarioError(f"scenario {scenario.name}: the fault needs devices")
    return scenario


def has_two_a_host(scenario: SimulationScenario, _random: Random) -> SimulationScenario:
    """Refuse a job with one rank a host."""
    if _slots(scenario) < 2:
        raise ScenarioError(f"scenario {scenario.name}: the fault needs two ranks a host")
    return scenario


def has_ranks(least: int) -> Need:
    def need(scenario: SimulationScenario, _random: Random) -> SimulationScenario:
        if ranks(scenario) < least:
            raise ScenarioError(f"scenario {scenario.name}: the fault needs {least} ranks")
        return scenario

    return need


def has_hosts(least: int) -> Need:
    def need(scenario: SimulationScenario, _random: Random) -> SimulationScenario:
        if _hosts(scenario) < least:
            raise ScenarioError(f"scenario {scenario.name}: the fault needs {least} hosts")
        return scenario

    return need


def with_devices(scenario: SimulationScenario, _random: Random) -> SimulationScenario:
    """Put devices into the hosts of the cluster."""
    return replace(scenario, cluster=replace(scenario.cluster, gpus=True))


def with_workers(scenario: SimulationScenario, random: Random) -> SimulationScenario:
    """Give each rank data loader workers."""
    return changed(scenario, workers=scenario.jobs[0].workers or int(random.integers(2, 5)))


def with_stages(scenario: SimulationScenario, _random: Random) -> SimulationScenario:
    """Give the job a pipeline of at least two stages of equal load."""
    job, world = scenario.jobs[0], ranks(scenario)
    pp = job.pp if job.pp > 1 else (4 if world % 4 == 0 and world >= 16 else 2)
    if world % (pp * job.tp) or world // (pp * job.tp) % job.ep:
        if world % pp:
            raise ScenarioError(f"scenario {scenario.name}: {world} ranks make no {pp} stages")
        return changed(scenario, pp=pp, tp=1, ep=1, stage_load=())
    return changed(scenario, pp=pp, stage_load=())


def with_experts(scenario: SimulationScenario, _random: Random) -> SimulationScenario:
    """Give the job expert-parallel groups of four, or of two where four do not fit."""
    job, world = scenario.jobs[0], ranks(scenario)
    if job.ep > 1:
        return scenario
    for ep in (4, 2):
        if world % (job.tp * job.pp * ep) == 0:
            return changed(scenario, ep=ep)
        if world % ep == 0:
            return changed(scenario, ep=ep, tp=1, pp=1, stage_load=())
    raise ScenarioError(f"scenario {scenario.name}: {world} ranks make no expert groups")


def with_replicas(scenario: SimulationScenario, random: Random) -> SimulationScenario:
    """Give the job at least two replicas of the model, so that gradients are reduced."""
    job = has_ranks(2)(scenario, random).jobs[0]
    if ranks(scenario) // (job.tp * job.pp) < 2:
        return changed(scenario, tp=1, pp=1, ep=1, stage_load=())
    return scenario


def _hosts(scenario: SimulationScenario) -> int:
    return len(scenario.jobs[0].hosts or range(scenario.cluster.hosts))


def _slots(scenario: SimulationScenario) -> int:
    return len(scenario.jobs[0].slots or range(scenario.cluster.slots))
