"""What each rank has to do in a step before it meets its peers, and how long that takes it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .conditions import ClusterConditions
from .placement import RankSeats
from .shape import SimulatedJob

Array = NDArray[np.float64]
_ASYNC_DRAG = 1.01
"""Factor on compute while a checkpoint is written in the background."""


@dataclass(frozen=True, slots=True)
class StepWork:
    """What each rank has to do in a step before it meets its peers; arrays over ranks.

    device: time of the kernels; launch: CPU time to feed them, at full speed; share: the part of
    the CPU it gets; compute: what comes of it; gc: the collector's pauses; other: what it does
    after the optimizer; built: the part of compute in which its CPU compiles.
    """

    data: Array
    compute: Array
    device: Array
    launch: Array
    share: Array
    tokens: Array
    gc: Array
    other: Array
    built: Array


def slowdown(
    state: ClusterConditions,
    sound: ClusterConditions,
    job: SimulatedJob,
    seats: RankSeats,
    *,
    gpus: bool,
) -> Array:
    """Return by which factor each rank's own work takes longer than under sound conditions.

    A device hides what its CPU has to spare, so that the longer of both counts.
    """

    def taken(at: ClusterConditions) -> Array:
        share = at.cpu_share[seats.host] * (1 - at.steal[seats.host]) * at.quota_share[seats.slot]
        on_cpu = 1 / (share * at.cpu_clock[seats.host])
        if not gpus:
            return on_cpu * at.drag[seats.slot]
        on_cpu = (at.training.launch or job.cpu_bound) * on_cpu
        found: Array = np.maximum(at.drag[seats.slot] / at.clock[seats.slot], on_cpu)
        return found

    found: Array = taken(state) / taken(sound)
    return found


class RankWorkload:
    """The work of an attempt's ranks, step after step."""

    def __init__(
        self,
        job: SimulatedJob,
        seats: RankSeats,
        *,
        gpus: bool,
        skew: Array,
        random: np.random.Generator,
    ) -> None:
        """Prepare; `skew` is the lasting speed of each device slot of the cluster."""
        self._job, self._seats, self._gpus = job, seats, gpus
        self._skew, self._random = skew[seats.slot], random
        self._drift_phase = float(self._random.uniform(0, 2 * np.pi))

    def step(self, state: ClusterConditions, now: float, *, done: int, writing: bool) -> StepWork:
        """Return what each rank has to do in the step that starts now.

        `done`: steps finished so far; `writing`: a checkpoint is written in the background.
        """
        job, seats, effects = self._job, self._seats, state.training
        world = seats.world
        tokens, length = self._lengths(state)
        share = state.cpu_share[seats.host] * (1 - state.steal[seats.host])
        share = share * state.quota_share[seats.slot]
        base = self._loads(state) * job.compute * job.step_seconds * length
        base = base * self._lognormal(job.noise, world) * effects.work
        if job.drift:
            turn = 2 * np.pi * now / job.drift_seconds + self._drift_phase
            base = base * (1 + job.drift * np.sin(turn))
        if writing:
            base = base * _ASYNC_DRAG
        launch_cpu = base * ((effects.launch or job.cpu_bound) if self._gpus else 1.0)
        launch_cpu = launch_cpu / state.cpu_clock[seats.host]
        # Who competes for a CPU gets it in uneven slices: the slower, the more uneven.
        uneven = np.where(share < 1, self._lognormal(0.12, world), 1.0)
        launch = launch_cpu * (1 + (1 / share - 1) * uneven)
        device = base * self._skew * state.drag[seats.slot] / state.clock[seats.slot]
        on_cpu = launch * self._skew * state.drag[seats.slot]
        compute = np.maximum(device, launch) if self._gpus else on_cpu
        stray, built = self._strays(state, done)
        compute = compute + stray + built
        data = job.data * job.step_seconds * self._lognormal(0.3, world) / share
        data = data * state.nodes.storage[seats.host]
        first = np.arange(world) == 0
        slow = effects.data_extra[seats.slot] + first * effects.first_data
        data = data + slow * self._lognormal(0.25, world)
        other = job.other * job.step_seconds * self._lognormal(0.3, world)
        more = effects.other[seats.slot] + first * effects.first_other
        other = other + more * self._lognormal(0.1, world)
        chance = 1 - (1 - job.gc) * (1 - effects.pauses[0])
        seconds = effects.pauses[1] if effects.pauses[0] else job.gc_seconds
        paused = self._random.random(world) < chance
        gc = paused * seconds * self._lognormal(0.2, world)
        if not job.gc_reported:
            compute, gc = compute + gc, np.zeros(world)
        return StepWork(data, compute, device, launch_cpu, share, tokens, gc, other, built)

    def _lengths(self, state: ClusterConditions) -> tuple[Array, Array]:
        """Return the tokens of each rank and the factor on its compute that comes of them."""
        job, seats = self._job, self._seats
        tokens = np.full(seats.world, float(job.tokens))
        spread = job.variable_length
        if state.training.lengths is not None:
            spread = state.training.lengths
        if not spread:
            return tokens, np.ones(seats.world)
        ratio = np.clip(self._lognormal(spread, seats.world), 0.25, 4.0)
        # Sequences of one micro-batch are as long on every member of a model replica.
        ratio = self.replica(ratio)
        square = job.attention
        return np.round(tokens * ratio), 0.25 + (0.75 - square) * ratio + square * ratio**2

    def replica(self, values: Array) -> Array:
        """Return the value of the first rank of each model replica, for all its ranks."""
        if self._job.tp * self._job.pp == 1:
            return values
        found: Array = values[np.unique(self._seats.dp, return_index=True)[1]][self._seats.dp]
        return found

    def _loads(self, state: ClusterConditions) -> Array:
        """Return the factors on compute of each rank's stage and experts."""
        job, seats, effects = self._job, self._seats, state.training
        load = np.asarray(job.stage_load or (1.0,))[seats.pp % max(len(job.stage_load), 1)]
        for stage, factor in effects.stages.items():
            load = np.where(seats.pp == stage, load * factor, load)
        if job.ep > 1:
            experts = self._lognormal(0.04, seats.world)
            if effects.hot is not None:
                group, member, factor = effects.hot
                hot = (seats.dp // job.ep == group) & (seats.ep == member)
                # The tokens come from the other experts of the group.
                cold = (seats.dp // job.ep == group) & ~hot
                experts = np.where(hot, experts * factor, experts)
                left = max((job.ep - factor) / (job.ep - 1), 0.1)
                experts = np.where(cold, experts * left, experts)
            load = load * (1 - job.moe + job.moe * experts)
        return load

    def _strays(self, state: ClusterConditions, done: int) -> tuple[Array, Array]:
        """Return seconds that only some steps have: delays, and compilation and warm-up."""
        job, world = self._job, self._seats.world
        stray = self._random.random(world) < job.hiccups
        delay: Array = stray * self._random.exponential(0.3 * job.step_seconds, world)
        built = np.zeros(world)
        if done < job.warm_up_steps:
            seconds = job.compile_seconds if done == 0 else 0.3 * job.step_seconds / done
            built = built + seconds * self._lognormal(0.1, world)
        chance, seconds = state.training.recompiles
        if chance and self._random.random() < chance:
            built = built + seconds * self._lognormal(0.3) * self._lognormal(0.1, world)
        return delay, built

    def _lognormal(self, spread: float, size: int | None = None) -> Any:
        """Return one factor around 1 with this spread, or an array of them."""
        return self._random.lognormal(0.0, spread, size)
