"""What faults share: changing a scenario's first job, drawing strengths, naming entities."""

import dataclasses
from typing import Any

import numpy as np

from .....vocabulary import entities
from .....vocabulary.ranks import Ranks
from ...placement import Seats, host_name, rank_of
from ...shape import Job, Scenario, ScenarioError, Strength


def first(scenario: Scenario) -> Job:
    """Return the job that a fault acts on."""
    return scenario.jobs[0]


def ranks(scenario: Scenario) -> int:
    """Return how many ranks the first job has."""
    job, cluster = scenario.jobs[0], scenario.cluster
    return len(job.hosts or range(cluster.hosts)) * len(job.slots or range(cluster.slots))


def changed(scenario: Scenario, **fields: Any) -> Scenario:
    """Return the scenario with these fields of its first job."""
    job = dataclasses.replace(scenario.jobs[0], **fields)
    return dataclasses.replace(scenario, jobs=(job, *scenario.jobs[1:]))


def with_devices(scenario: Scenario) -> Scenario:
    """Return the scenario; ScenarioError where its cluster has no devices."""
    if not scenario.cluster.gpus:
        raise ScenarioError(f"scenario {scenario.name}: the fault needs devices")
    return scenario


def with_peers(scenario: Scenario, least: int = 2) -> Scenario:
    """Return the scenario; ScenarioError where its first job has fewer ranks."""
    if ranks(scenario) < least:
        raise ScenarioError(f"scenario {scenario.name}: the fault needs {least} ranks")
    return scenario


def with_workers(scenario: Scenario, random: np.random.Generator, **fields: Any) -> Scenario:
    """Return the scenario with data loader workers in its first job."""
    workers = scenario.jobs[0].workers or int(random.integers(2, 5))
    return changed(scenario, workers=workers, **fields)


def with_restart(scenario: Scenario, random: np.random.Generator, **fields: Any) -> Scenario:
    """Return the scenario with one restart of its first job, about in the middle."""
    at = float(random.uniform(0.4, 0.6) * scenario.seconds)
    return changed(scenario, restarts=(at,), **fields)


def drawn(
    random: np.random.Generator,
    strength: Strength,
    *,
    plain: tuple[float, float],
    weak: tuple[float, float],
) -> float:
    """Return a number from the range of the strength."""
    low, high = weak if strength == "weak" else plain
    return float(random.uniform(low, high))


def flip(random: np.random.Generator, chance: float = 0.5) -> bool:
    """Return True with this chance."""
    return bool(random.random() < chance)


def the_job(job: str, seats: Seats) -> entities.Entity:
    """Return the job with all its ranks."""
    return entities.job(job, range(seats.world))


def the_rank(seats: Seats, host: int, place: int) -> entities.Entity:
    """Return the rank in a place of a host."""
    return entities.rank(rank_of(seats, host, place), host_name(host))


def the_process(seats: Seats, host: int, place: int, worker: int | None = None) -> entities.Entity:
    """Return the trainer in a place of a host, or one of its data loader's workers."""
    rank = rank_of(seats, host, place)
    pid = int(seats.pid[rank]) + (0 if worker is None else 1 + worker)
    return entities.process(host_name(host), pid, (rank,))


def the_stage(seats: Seats, stage: int) -> entities.Entity:
    """Return a pipeline stage: by its first group within it, with all its ranks.

    That is its data-parallel group where it has one, else its tensor-parallel one; a stage of a
    single rank is named by its pipeline's group.
    """
    there = np.flatnonzero(seats.pp == stage)
    for kind in ("dp", "tp", "pp"):
        for group in seats.groups:
            if group.kind == kind and there[0] in group.members:
                return entities.Entity("group", group.name, None, Ranks(there.tolist()))
    raise ScenarioError(f"stage {stage} has no group")


def steady(random: np.random.Generator, chance: float = 0.5) -> dict[str, Any]:
    """Return an onset of 0 with this chance: what is so from the first step on."""
    return {"onset": 0.0} if flip(random, chance) else {}


def with_stages(scenario: Scenario) -> Scenario:
    """Return the scenario with a pipeline of at least two stages of equal load."""
    job, world = first(scenario), ranks(scenario)
    pp = job.pp if job.pp > 1 else (4 if world % 4 == 0 and world >= 16 else 2)
    if world % (pp * job.tp) or world // (pp * job.tp) % job.ep:
        if world % pp:
            raise ScenarioError(f"scenario {scenario.name}: {world} ranks make no {pp} stages")
        return changed(scenario, pp=pp, tp=1, ep=1, stage_load=())
    return changed(scenario, pp=pp, stage_load=())


def with_experts(scenario: Scenario) -> Scenario:
    """Return the scenario with expert-parallel groups of four, or two where four do not fit."""
    job, world = first(scenario), ranks(scenario)
    if job.ep > 1:
        return scenario
    for ep in (4, 2):
        if world % (job.tp * job.pp * ep) == 0:
            return changed(scenario, ep=ep)
        if world % ep == 0:
            return changed(scenario, ep=ep, tp=1, pp=1, stage_load=())
    raise ScenarioError(f"scenario {scenario.name}: {world} ranks make no expert groups")


def with_replicas(scenario: Scenario) -> Scenario:
    """Return the scenario with at least two model replicas, so that gradients are reduced."""
    job = first(with_peers(scenario))
    if ranks(scenario) // (job.tp * job.pp) < 2:
        return changed(scenario, tp=1, pp=1, ep=1, stage_load=())
    return scenario
