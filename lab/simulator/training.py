"""The physics of one attempt of a synchronous training job, step by step.

Every rank waits for the batch, computes, and then meets its peers in collectives: a step ends for
all when the slowest has arrived (waits.py says who meets whom). Whoever is early waits (`comm`), so
every rank shows the same step time whoever is slow. The loop runs over steps, since faults act in
wall time; everything over ranks is vectorised.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import corruption, ends, fabric, memory
from .conditions import ClusterConditions, ProcessDeath
from .curves import TrainingCurve
from .placement import RankSeats
from .progress import SimulatedAttempt, StepRows, UnfinishedStep, UsageSegments
from .shape import SimulatedJob
from .waits import AttemptWaits
from .work import RankWorkload, StepWork

__all__ = ["AttemptRun", "SimulatedAttempt"]

Array = NDArray[np.float64]
_ASYNC_STALL = 0.15
"""Seconds that an asynchronous checkpoint holds the step up, copying to host memory."""
_COMPILING = 0.8
"""CPUs that the trainer's own process uses while it compiles; its workers use more."""


class AttemptRun:
    """One attempt while it is being computed."""

    def __init__(
        self,
        job: SimulatedJob,
        seats: RankSeats,
        *,
        number: int,
        born: float,
        first_step: int,
        gpus: bool,
        device_memory: float,
        skew: Array,
        curve: TrainingCurve,
        conditions: Callable[[float], ClusterConditions],
        random: np.random.Generator,
    ) -> None:
        """Start the processes at `born`; `skew` is the lasting speed of each device slot."""
        self._job, self._seats, self._gpus = job, seats, gpus
        self._curve = curve
        self._conditions, self._random = conditions, random
        world = seats.world
        self._free = born + job.init_seconds + random.uniform(0, 0.5, world)
        self._step = first_step
        self._pending_checkpoint = np.zeros(world)
        self._poisoned = np.zeros(world, dtype=bool)
        self._waits = AttemptWaits(job, seats)
        self._allocators = memory.DeviceAllocators(job, seats, device_memory, random)
        self._writing_until = 0.0
        self._workload = RankWorkload(job, seats, gpus=gpus, skew=skew, random=random)
        self.attempt = SimulatedAttempt(
            job=job,
            number=number,
            seats=seats,
            born=born,
            steps=StepRows(),
            segments=UsageSegments(),
            phases=[(born + 0.5, "init", first_step)],
            died=np.full(world, np.inf),
            deaths={},
        )
        zero = np.zeros(world)
        self.attempt.segments.add(np.full(world, born), cpu=zero)
        self.attempt.segments.add(self._free, cpu=0.8 * job.init_seconds + zero)

    def until(self, stop: float, *, end: str) -> SimulatedAttempt:
        """Run to `stop` and return the attempt; `end`: "cut" (recording ends), "done", "requeue".

        A fault may end or hang it before.
        """
        attempt = self.attempt
        if not ends.initialised(attempt, self._conditions, stop, self._random) or (
            ends.unreachable(attempt, self._conditions, self._free, stop, self._random)
        ):
            attempt.next_step = self._step
            return attempt
        attempt.phases.append((float(self._free.max()), "train", self._step))
        while float(self._free.max()) < stop:
            if not self._advance(stop):
                break
            self._pauses()
        attempt.next_step = self._step
        if attempt.unfinished is None and end != "cut":
            # Who asks it to end waits for the step in flight.
            at = max(stop, float(self._free.max()))
            ends.finish(attempt, at, self._step, self._random, killed=end == "requeue")
        elif attempt.unfinished is not None and not attempt.crashed and end == "requeue":
            ends.finish(attempt, stop, self._step, self._random, killed=True)
        return attempt

    def _advance(self, stop: float) -> bool:
        """Run one step; False when it could not be finished."""
        job, seats, steps = self._job, self._seats, self.attempt.steps
        state = self._conditions(float(self._free.max()))
        if state.training.idle:
            return self._idle(stop)
        start = self._free
        now = float(start.max())
        writing = now < self._writing_until
        work = self._workload.step(state, now, done=len(steps.index), writing=writing)
        ready = start + work.data
        if state.training.broadcasts:
            ready = np.maximum(ready, ready[0])
        busy = work.compute + work.gc
        arrival = self._waits.arrivals(ready, busy)
        done = self._waits.reduced(arrival, busy, state, self._random)
        held, out = self._allocators.step(state, work.tokens)
        later = self._conditions(float(done.max()))
        own = work.data + busy
        halted = self._halted(later, start, own, (float(done.max()), stop), out & self._gpus)
        if halted is None:
            return False
        done = np.maximum(done, halted + done.max() - arrival.max())
        stop_at, pause = ends.paused(later, seats, start, own, halted)
        optimizer = job.optimizer * job.step_seconds * self._lognormal(0.03, len(start))
        end = done + optimizer + work.other
        comm = np.maximum(done - start - own - pause, 0.0)
        steps.index.append(self._step)
        steps.sync.append(float(done.max()))
        steps.done.append(done)
        steps.start.append(start)
        steps.end.append(end)
        steps.data.append(work.data)
        steps.compute.append(work.compute + pause)
        steps.stop.append(stop_at)
        steps.pause.append(pause)
        steps.comm.append(comm)
        steps.optimizer.append(optimizer)
        steps.checkpoint.append(self._pending_checkpoint)
        steps.gc.append(work.gc)
        steps.held.append(held)
        poison = np.where(self._poisoned & later.poison_once, 0, later.poison[seats.slot])
        self._poisoned |= poison > 0
        numerics = later.training.numerics
        drift = (
            None if numerics.drift is None else self._workload.replica(numerics.drift[seats.slot])
        )
        values = self._curve.values(self._step, work.tokens, poison, numerics, drift)
        corrupted, reduced = later.corrupted[seats.slot], job.loss_scope == "global"
        steps.values.append(corruption.spoiled(values, corrupted, self._random, reduced=reduced))
        self._pending_checkpoint = np.zeros(seats.world)
        self._use(end, work, comm, optimizer, state, pause * later.busy_stop[seats.slot])
        self._free, self._step = end, self._step + 1
        return True

    def _deaths(
        self,
        state: ClusterConditions,
        start: Array,
        own: Array,
        until: tuple[float, float],
        out: NDArray[np.bool_],
    ) -> dict[int, ProcessDeath]:
        """Return which ranks end: by a fault until the latter of two times, or for want of memory.

        The former is the end of the step.
        """
        seats, job, (sync, latest) = self._seats, self._job, until
        deaths: dict[int, ProcessDeath] = {}
        for slot, death in state.deaths.items():
            if self.attempt.born <= death.at <= latest:
                deaths |= dict.fromkeys(np.flatnonzero(seats.slot == slot).tolist(), death)
        for rank in np.flatnonzero(out).tolist():
            at = float(start[rank] + 0.5 * own[rank])
            deaths.setdefault(rank, self._allocators.death(rank, at, state))
        deaths.update(memory.killed(state, job, seats, sync, self._random))
        deaths.update(memory.out_of_shm(state, job, seats, sync, self._random))
        return deaths

    def _halted(
        self,
        state: ClusterConditions,
        start: Array,
        own: Array,
        until: tuple[float, float],
        out: NDArray[np.bool_],
    ) -> float | None:
        """Return when stopped ranks arrive after all (0: nobody stopped), None when never.

        `until`: the end of the step, and of the recording or attempt; `out`: who ran out of memory.
        """
        seats, attempt, (sync, stop) = self._seats, self.attempt, until
        stopped = np.where(state.devices.stalled[seats.slot], 0.6, state.stopped[seats.slot])
        silent = state.silent[seats.host]
        severed = fabric.severed(state, seats)
        tangled = ends.tangled(attempt, state, start, own, self._step, self._random)
        hangs = severed or tangled is not None or not np.isnan(stopped).all()
        # Who waits for ever meets what comes later, too.
        latest = stop if hangs and state.released == np.inf else min(sync, stop)
        deaths = self._deaths(state, start, own, (sync, latest), out)
        ended = bool(deaths) or bool(silent.any())
        if not ended and not hangs:
            return 0.0
        limit = np.where(np.isnan(stopped), 1.0, stopped)
        if not ended and tangled is None and state.released < np.inf:
            return state.released + float(((1 - limit) * own).max())
        attempt.died[silent] = np.maximum(state.lost_at, start[silent])
        for rank, death in deaths.items():
            attempt.died[rank] = death.at
        gone = np.isfinite(attempt.died)
        limit[gone] = np.clip((attempt.died[gone] - start[gone]) / own[gone], 0, 1)
        attempt.unfinished = tangled or UnfinishedStep(start, own, limit)
        attempt.unfinished.stalled = state.devices.stalled[seats.slot]
        timeout = float(start.max()) + attempt.job.collective_timeout
        if deaths:
            ends.cascade(attempt, deaths, self._random)
        elif timeout < stop:
            ends.abort(attempt, timeout, ~silent, self._random)
        self._wait_out(np.minimum(attempt.died, stop), state)
        return None

    def _idle(self, stop: float) -> bool:
        """Do nothing for as long as the job is idle; False when that is to the end."""
        now = at = float(self._free.max())
        while at < stop and self._conditions(at).training.idle:
            at += 1.0
        self._free = np.full(self._seats.world, at)
        self.attempt.segments.add(self._free, cpu=np.full(self._seats.world, 0.01 * (at - now)))
        return at < stop

    def _wait_out(self, to: Array, state: ClusterConditions) -> None:
        """Add what ranks use while they wait, up to `to`, for one that never comes."""
        seats, job = self._seats, self._job
        span = np.maximum(to - self._free, 0)
        stopped = ~np.isnan(state.stopped[seats.slot]) | state.training.leaves[seats.slot]
        waiting = span * (1.0 if job.spins else 0.02)
        cpu = np.where(stopped, state.busy_stop[seats.slot] * span, waiting)
        self.attempt.segments.add(
            self._free + span,
            cpu=cpu,
            wait=0.001 * cpu,
            # A collective that waits for a peer is a kernel that spins; no arithmetic in it.
            kernel=np.where(stopped, 0.0, span),
        )

    def _use(
        self,
        end: Array,
        work: StepWork,
        comm: Array,
        optimizer: Array,
        state: ClusterConditions,
        burnt: Array,
    ) -> None:
        """Add what the ranks used in a finished step; `burnt`: CPU seconds of an endless loop."""
        seats, job = self._seats, self._job
        held = work.launch * (1 / work.share - 1)
        quota = state.quota_share[seats.slot] < 1
        # A stolen CPU looks like a running one from inside the guest; a quota shows as waiting.
        stolen = state.steal[seats.host] > 0
        cpu = work.launch + optimizer + 0.1 * work.data + comm * (1.0 if job.spins else 0.03)
        cpu = cpu + work.gc + 0.9 * work.other + burnt + _COMPILING * work.built
        if state.training.broadcasts:
            # Rank 0 prepares everybody's batches on its own CPU.
            cpu = cpu + (np.arange(seats.world) == 0) * work.data
        math = work.device if self._gpus else work.compute - work.built
        self.attempt.segments.add(
            end,
            cpu=cpu,
            wait=np.where(stolen, 0.0, held)
            + cpu * self._random.uniform(0.0005, 0.004, seats.world),
            kernel=math + comm + optimizer,
            math=math + optimizer,
            throttled=np.where(quota, held, 0.0),
        )

    def _pauses(self) -> None:
        """Evaluate and save when it is time to."""
        job, done = self._job, self._step
        if job.checkpoint_every and done % job.checkpoint_every == 0:
            self._save()
        if job.eval_every and done % job.eval_every == 0:
            span = job.eval_seconds * self._lognormal(0.05, self._seats.world)
            span = np.maximum(span, span.max())
            if job.eval_by == "first":
                span = np.where(np.arange(self._seats.world) == 0, span, 0.02)
            self._pause("eval", span, kernel=0.7)

    def _save(self) -> None:
        """Write a checkpoint."""
        job, attempt = self._job, self.attempt
        now = float(self._free.max())
        state = self._conditions(now)
        factor = state.training.checkpoint * state.nodes.storage[self._seats.host]
        seconds = job.checkpoint_seconds * factor * self._lognormal(0.15, self._seats.world)
        if job.checkpoint_by == "first":
            seconds = np.where(np.arange(self._seats.world) == 0, seconds, 0.02)
        if job.checkpoint_by == "async":
            # The next one waits for the last to be written.
            seconds = np.full(self._seats.world, max(self._writing_until - now, 0.0))
            seconds = seconds + _ASYNC_STALL * self._lognormal(0.15, self._seats.world)
            writing = job.checkpoint_seconds * float(factor.max())
            self._writing_until = now + float(seconds.max()) + writing
        self._pause("checkpoint", seconds, kernel=0.02)
        self._pending_checkpoint = seconds
        if job.step_holds_pauses:
            attempt.steps.end[-1] = self._free
            attempt.steps.checkpoint[-1] = seconds
            self._pending_checkpoint = np.zeros(self._seats.world)

    def _pause(self, phase: str, seconds: Array, *, kernel: float) -> None:
        attempt, begun = self.attempt, float(self._free.max())
        if self._job.announces:
            attempt.phases.append((begun, phase, self._step))
        self._free = self._free + seconds
        attempt.segments.add(
            self._free, cpu=0.6 * seconds, kernel=kernel * seconds, math=kernel * seconds
        )
        if self._job.announces:
            # Each rank goes on when its own part is done, and none before it announced the pause:
            # where the first rank alone evaluates, only that one is still at it.
            attempt.phases.append((np.maximum(self._free, begun), "train", self._step))

    def _lognormal(self, spread: float, size: int | None = None) -> Any:
        """Return one factor around 1 with this spread, or an array of them."""
        return self._random.lognormal(0.0, spread, size)
