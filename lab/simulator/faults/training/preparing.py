"""What faults of the training side are at: a process, a pipeline stage."""

import numpy as np

from .....vocabulary import entities
from .....vocabulary.ranks import RankSet
from ...placement import RankSeats, host_name, rank_of
from ...shape import ScenarioError


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
