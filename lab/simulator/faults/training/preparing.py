"""What faults of the training side share: a restart, strengths that are drawn, entities."""

from typing import Any

import numpy as np

from .....vocabulary import entities
from .....vocabulary.ranks import RankSet
from ...placement import RankSeats, host_name, rank_of
from ...shape import ScenarioError, SimulatedJob, SimulationScenario, Strength
from .. import requirements


def first(scenario: SimulationScenario) -> SimulatedJob:
    """Return the job that a fault acts on."""
    return scenario.jobs[0]


def with_restart(
    scenario: SimulationScenario, random: np.random.Generator, **fields: Any
) -> SimulationScenario:
    """Return the scenario with one restart of its first job, about in the middle."""
    at = float(random.uniform(0.4, 0.6) * scenario.seconds)
    return requirements.changed(scenario, restarts=(at,), **fields)


def drawn(
    random: np.random.Generator,
    strength: Strength,
    *,
    plain: tuple[float, float],
    weak: tuple[float, float],
) -> float:
    low, high = weak if strength == "weak" else plain
    return float(random.uniform(low, high))


def flip(random: np.random.Generator, chance: float = 0.5) -> bool:
    return bool(random.random() < chance)


def the_process(
    seats: RankSeats, host: int, place: int, worker: int | None = None
) -> entities.Entity:
    """Return the trainer in a place of a host, or one of its data loader's workers."""
    rank = rank_of(seats, host, place)
    pid = int(seats.pid[rank]) + (0 if worker is None else 1 + worker)
    return entities.process(host_name(host), pid, (rank,))


def the_stage(seats: RankSeats, stage: int) -> entities.Entity:
    """Return a pipeline stage: by its first group within it, with all its ranks.

    That is its data-parallel group where it has one, else its tensor-parallel one; a stage of a
    single rank is named by its pipeline's group.
    """
    there = np.flatnonzero(seats.pp == stage)
    for kind in ("dp", "tp", "pp"):
        for group in seats.groups:
            if group.kind == kind and there[0] in group.members:
                return entities.Entity("group", group.name, None, RankSet(there.tolist()))
    raise ScenarioError(f"stage {stage} has no group")


def steady(random: np.random.Generator, chance: float = 0.5) -> dict[str, Any]:
    """Return an onset of 0 with this chance: what is so from the first step on."""
    return {"onset": 0.0} if flip(random, chance) else {}
