"""Who waits for whom in a step, group by group.

Tensor-parallel peers and members of an expert-parallel group meet in every layer, so each of them
gets on no faster than the slowest. Pipeline stages hand micro-batches on: the slowest stage sets
the beat and the others stand idle in bubbles. Data-parallel peers meet at the reduction of their
gradients, part of which hides beneath backward. Last, where the norm of all gradients is taken,
everybody meets.
"""

import numpy as np
from numpy.typing import NDArray

from . import fabric
from .conditions import ClusterConditions
from .placement import RankSeats, SimulatedGroup
from .shape import SimulatedJob

Array = NDArray[np.float64]
BACKWARD = 2 / 3
"""Share of backward in a rank's compute."""


class AttemptWaits:
    """The waits of one attempt."""

    def __init__(self, job: SimulatedJob, seats: RankSeats) -> None:
        """Prepare for these groups; ranks without data-parallel peers reduce nothing."""
        self._job, self._seats = job, seats
        # Peers of one model replica and stage meet in every layer; so do those of an expert group.
        self._close = seats.dp * job.pp + seats.pp
        self._experts = (seats.pp * job.tp + seats.tp) * seats.world + seats.dp // job.ep
        self._reducing: list[SimulatedGroup] = [
            group for group in seats.groups if group.kind == "dp"
        ]

    def arrivals(self, ready: Array, compute: Array) -> Array:
        """Return when each rank has its gradients, given when it has its batch."""
        job, seats = self._job, self._seats
        if job.tp == 1 and job.pp == 1 and job.ep == 1:
            return ready + compute
        ready, compute = self._slowest(ready, compute)
        if job.pp == 1:
            return ready + compute
        replicas = int(seats.dp.max()) + 1
        stage = np.zeros((replicas, job.pp))
        np.maximum.at(stage, (seats.dp, seats.pp), compute)
        batches = job.micro_batches or 4 * job.pp
        # One forward, one backward at a time: filling and draining costs one beat of every stage.
        span = ((batches - 1) * stage.max(axis=1) + stage.sum(axis=1)) / batches
        # The last backward of a stage is handed to the stage before, so the last stage ends first.
        after = np.cumsum(stage, axis=1) - stage
        ends = span[:, None] - BACKWARD * after / batches
        first = np.zeros(replicas)
        np.maximum.at(first, seats.dp, ready)
        arrivals: Array = first[seats.dp] + ends[seats.dp, seats.pp]
        return arrivals

    def _slowest(self, ready: Array, compute: Array) -> tuple[Array, Array]:
        """Return when ranks are ready, and what they take, given those they meet in every layer."""
        job = self._job
        if job.ep > 1:
            ready, compute = _by(self._experts, ready), _by(self._experts, compute)
        if job.tp > 1:
            ready, compute = _by(self._close, ready), _by(self._close, compute)
        return ready, compute

    def reduced(
        self, arrival: Array, compute: Array, state: ClusterConditions, random: np.random.Generator
    ) -> Array:
        """Return when the reduction of each rank's gradients is done."""
        job, seats = self._job, self._seats
        done = arrival.copy()
        for group in self._reducing:
            members = group.members
            factor = fabric.slowdown(state, seats, members) * float(random.lognormal(0.0, 0.05))
            seconds = job.collective * job.step_seconds * factor
            # The last bucket has nothing left to hide beneath.
            hidden = job.overlap * BACKWARD * float(np.median(compute[members]))
            done[members] = arrival[members].max() + max(seconds - hidden, 0.15 * seconds)
        if not self._reducing:
            done += 0.02 * job.collective * job.step_seconds * float(random.lognormal(0.0, 0.05))
        if job.clips:
            done = np.full(len(done), done.max())
        return done


def _by(group: NDArray[np.int64], value: Array) -> Array:
    """Return the largest value of each rank's group."""
    most = np.full(int(group.max()) + 1, -np.inf)
    np.maximum.at(most, group, value)
    found: Array = most[group]
    return found
