"""The physics of one attempt of a synchronous training job, step by step.

Every rank waits for the batch, computes, and then meets its peers in collectives: a step ends for
all when the slowest has arrived. Whoever is early waits (`comm`), so every rank shows the same
step time whoever is slow. The loop runs over steps, since faults act in wall time; everything
over ranks is vectorised.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import corruption, fabric
from .conditions import Conditions, Death
from .curves import Curve, Values
from .placement import Seats
from .shape import Job

Array = NDArray[np.float64]
_GRACE_SECONDS = 30.0
"""A scheduler kills what has not ended so long after SIGTERM."""


@dataclass(slots=True)
class Steps:
    """Rows of finished steps; every array is [step, rank] except `index`, `sync` ([step])."""

    index: list[int] = field(default_factory=list)
    sync: list[float] = field(default_factory=list)
    start: list[Array] = field(default_factory=list)
    end: list[Array] = field(default_factory=list)
    data: list[Array] = field(default_factory=list)
    compute: list[Array] = field(default_factory=list)
    comm: list[Array] = field(default_factory=list)
    optimizer: list[Array] = field(default_factory=list)
    checkpoint: list[Array] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)


@dataclass(slots=True)
class Segments:
    """What each rank's process and device used up to each edge; all [edge, rank], cumulative.

    cpu: CPU seconds used; wait: seconds runnable but not running; kernel: seconds in which a
    kernel ran on the device (collectives included: they spin there); math: seconds of arithmetic.
    """

    edge: list[Array] = field(default_factory=list)
    cpu: list[Array] = field(default_factory=list)
    wait: list[Array] = field(default_factory=list)
    kernel: list[Array] = field(default_factory=list)
    math: list[Array] = field(default_factory=list)
    throttled: list[Array] = field(default_factory=list)

    def add(self, edge: Array, **used: Array) -> None:
        """Append a segment that ends at `edge`; what is not named was not used."""
        zero = np.zeros_like(edge)
        self.edge.append(edge.copy())
        for name in ("cpu", "wait", "kernel", "math", "throttled"):
            rows: list[Array] = getattr(self, name)
            rows.append((rows[-1] if rows else zero) + used.get(name, zero))


@dataclass(frozen=True, slots=True)
class Work:
    """What each rank has to do in a step before it meets its peers; arrays over ranks.

    device: time of the kernels; launch: CPU time to feed them, at full speed; share: the part of
    the CPU it gets; compute: what comes of it.
    """

    data: Array
    compute: Array
    device: Array
    launch: Array
    share: Array
    tokens: Array


@dataclass(slots=True)
class Unfinished:
    """The step in which the job stood when it stopped: where each rank was in its own work."""

    start: Array
    own: Array
    limit: Array
    stalled: NDArray[np.bool_]
    """Ranks whose device does not finish: their process launches on."""


@dataclass(slots=True)
class Attempt:
    """One attempt of a job from the start of its processes to their end (inf: still running)."""

    job: Job
    number: int
    seats: Seats
    born: float
    steps: Steps
    segments: Segments
    phases: list[tuple[float, str, int]]
    died: Array
    deaths: dict[int, Death]
    unfinished: Unfinished | None = None
    next_step: int = 0
    crashed: bool = False


class Run:
    """One attempt while it is being computed."""

    def __init__(
        self,
        job: Job,
        seats: Seats,
        *,
        number: int,
        born: float,
        first_step: int,
        gpus: bool,
        skew: Array,
        curve: Curve,
        conditions: Callable[[float], Conditions],
        random: np.random.Generator,
    ) -> None:
        """Start the processes at `born`; `skew` is the lasting speed of each device slot."""
        self._job, self._seats, self._gpus = job, seats, gpus
        self._skew, self._curve = skew[seats.slot], curve
        self._conditions, self._random = conditions, random
        world = seats.world
        self._free = born + job.init_seconds + random.uniform(0, 0.5, world)
        self._step = first_step
        self._pending_checkpoint = np.zeros(world)
        self._poisoned = np.zeros(world, dtype=bool)
        self.attempt = Attempt(
            job=job,
            number=number,
            seats=seats,
            born=born,
            steps=Steps(),
            segments=Segments(),
            phases=[(born + 0.5, "init", first_step)],
            died=np.full(world, np.inf),
            deaths={},
        )
        zero = np.zeros(world)
        self.attempt.segments.add(np.full(world, born), cpu=zero)
        self.attempt.segments.add(self._free, cpu=0.8 * job.init_seconds + zero)

    def until(self, stop: float, *, end: str) -> Attempt:
        """Run to `stop` and return the attempt; `end`: "cut" (recording ends), "done", "requeue".

        A fault may end or hang it before.
        """
        attempt = self.attempt
        if self._cannot_start(stop):
            return attempt
        attempt.phases.append((float(self._free.max()), "train", self._step))
        while float(self._free.max()) < stop:
            if not self._advance(stop):
                break
            self._pauses()
        attempt.next_step = self._step
        if attempt.unfinished is None and end != "cut":
            # Who asks it to end waits for the step in flight.
            self._finish(max(stop, float(self._free.max())), killed=end == "requeue")
        elif attempt.unfinished is not None and not attempt.crashed and end == "requeue":
            self._finish(stop, killed=True)
        return attempt

    def _cannot_start(self, stop: float) -> bool:
        """Tell whether peers cannot reach a host of the job; all wait, then give up."""
        seats, attempt, job = self._seats, self.attempt, self._job
        state = self._conditions(float(self._free.max()))
        if (seats.host == seats.host[0]).all() or not state.nodes.unreachable[seats.host].any():
            return False
        attempt.next_step = self._step
        at = float(self._free.max()) + job.start_timeout
        if at < stop:
            for rank in range(seats.world):
                moment = at + float(self._random.uniform(0, 2))
                alone = bool(state.nodes.unreachable[seats.host[rank]])
                text = "Bootstrap : no socket interface found" if alone else "Connection timed out"
                attempt.deaths[rank] = Death(
                    moment,
                    exit_code=1,
                    signature="python.DistBackendError",
                    text=f"DistBackendError: NCCL error: unhandled system error. {text}",
                    role="root" if alone else "cascade",
                )
                attempt.died[rank] = moment
            attempt.crashed = True
        waited = np.minimum(attempt.died, stop)
        attempt.segments.add(waited, cpu=0.05 * np.maximum(waited - self._free, 0))
        return True

    def _advance(self, stop: float) -> bool:
        """Run one step; False when it could not be finished."""
        job, seats, steps = self._job, self._seats, self.attempt.steps
        now = float(self._free.max())
        state = self._conditions(now)
        work = self._work(state)
        start = self._free
        arrival = self._arrivals(start + work.data, work.compute)
        spread = fabric.slowdown(state, seats)
        collective = self._job.collective * job.step_seconds * spread * self._lognormal(0.05)
        sync = float(arrival.max()) + collective
        later = self._conditions(sync)
        halted = self._halted(later, start, work.data + work.compute, sync, stop)
        if halted is None:
            return False
        sync = max(sync, halted + collective)
        optimizer = job.optimizer * job.step_seconds * self._lognormal(0.03, len(start))
        end = sync + optimizer
        comm = sync - start - work.data - work.compute
        steps.index.append(self._step)
        steps.sync.append(sync)
        steps.start.append(start)
        steps.end.append(end)
        steps.data.append(work.data)
        steps.compute.append(work.compute)
        steps.comm.append(comm)
        steps.optimizer.append(optimizer)
        steps.checkpoint.append(self._pending_checkpoint)
        poison = np.where(self._poisoned & later.poison_once, 0, later.poison[seats.slot])
        self._poisoned |= poison > 0
        values = self._curve.values(self._step, work.tokens, poison)
        corrupted, reduced = later.corrupted[seats.slot], job.loss_scope == "global"
        steps.values.append(corruption.spoiled(values, corrupted, self._random, reduced=reduced))
        self._pending_checkpoint = np.zeros(seats.world)
        self._use(end, work, comm, optimizer, state)
        self._free, self._step = end, self._step + 1
        return True

    def _work(self, state: Conditions) -> Work:
        """Return what each rank has to do in the step that starts now."""
        job, seats = self._job, self._seats
        world = seats.world
        tokens = np.full(world, float(job.tokens))
        length = np.ones(world)
        if job.variable_length:
            ratio = np.clip(self._lognormal(job.variable_length, world), 0.25, 4.0)
            # Sequences of one micro-batch are as long on every member of a model replica.
            ratio = ratio[seats.dp] if job.tp * job.pp > 1 else ratio
            tokens = np.round(tokens * ratio)
            length = 0.25 + 0.55 * ratio + 0.2 * ratio**2
        share = state.cpu_share[seats.host] * (1 - state.steal[seats.host])
        share = share * state.quota_share[seats.slot]
        load = np.asarray(job.stage_load or (1.0,))[seats.pp % max(len(job.stage_load), 1)]
        base = load * job.compute * job.step_seconds * length * self._lognormal(job.noise, world)
        launch_cpu = base * (job.cpu_bound if self._gpus else 1.0)
        # Who competes for a CPU gets it in uneven slices: the slower, the more uneven.
        uneven = np.where(share < 1, self._lognormal(0.12, world), 1.0)
        launch = launch_cpu * (1 + (1 / share - 1) * uneven)
        device = base * self._skew * state.drag[seats.slot] / state.clock[seats.slot]
        compute = np.maximum(device, launch) if self._gpus else launch * self._skew
        stray = self._random.random(world) < job.hiccups
        compute = compute + stray * self._random.exponential(0.3 * job.step_seconds, world)
        done = len(self.attempt.steps.index)
        if done < job.warm_up_steps:
            extra = job.compile_seconds if done == 0 else 0.3 * job.step_seconds / done
            compute = compute + extra * self._lognormal(0.1, world)
        data = job.data * job.step_seconds * self._lognormal(0.3, world) / share
        data = data * state.nodes.storage[seats.host]
        return Work(data, compute, device, launch_cpu, share, tokens)

    def _arrivals(self, ready: Array, compute: Array) -> Array:
        """Return when each rank has its gradients, given waits inside its model replica."""
        job, seats = self._job, self._seats
        if job.tp * job.pp == 1:
            return ready + compute
        replicas = int(seats.dp.max()) + 1
        stage = np.zeros((replicas, job.pp))
        np.maximum.at(stage, (seats.dp, seats.pp), compute)
        # One forward, one backward at a time, with four micro-batches a stage: the slowest stage
        # sets the beat, filling and draining the pipeline costs one beat of every stage.
        beats = 4 * job.pp
        span = ((beats - 1) * stage.max(axis=1) + stage.sum(axis=1)) / beats
        first = np.zeros(replicas)
        np.maximum.at(first, seats.dp, ready)
        arrivals: Array = (first + span)[seats.dp]
        return arrivals

    def _halted(
        self, state: Conditions, start: Array, own: Array, sync: float, stop: float
    ) -> float | None:
        """Return when stopped ranks arrive after all (0: nobody stopped), None when never."""
        seats, attempt = self._seats, self.attempt
        stopped = np.where(state.devices.stalled[seats.slot], 0.5, state.stopped[seats.slot])
        silent = state.silent[seats.host]
        severed = fabric.severed(state, seats)
        hangs = severed or not np.isnan(stopped).all()
        # Who waits for ever meets what comes later, too.
        latest = np.inf if hangs and state.released == np.inf else sync
        deaths = {
            rank: death
            for rank, slot in enumerate(seats.slot.tolist())
            if (death := state.deaths.get(slot)) and attempt.born <= death.at <= min(latest, stop)
        }
        ends = bool(deaths) or bool(silent.any())
        if not ends and not hangs:
            return 0.0
        limit = np.where(np.isnan(stopped), 1.0, stopped)
        if not ends and state.released < np.inf:
            return state.released + float(((1 - limit) * own).max())
        attempt.died[silent] = np.maximum(state.lost_at, start[silent])
        for rank, death in deaths.items():
            attempt.died[rank] = death.at
        gone = np.isfinite(attempt.died)
        limit[gone] = np.clip((attempt.died[gone] - start[gone]) / own[gone], 0, 1)
        attempt.unfinished = Unfinished(start, own, limit, state.devices.stalled[seats.slot])
        timeout = float(start.max()) + attempt.job.collective_timeout
        if deaths:
            self._cascade(deaths)
        elif timeout < stop:
            self._abort(timeout, ~silent)
        self._wait_out(np.minimum(attempt.died, stop), state)
        return None

    def _cascade(self, deaths: dict[int, Death]) -> None:
        """End the peers of the dead.

        The launcher kills those beside, the network reports others.
        """
        attempt, seats = self.attempt, self._seats
        first = min(death.at for death in deaths.values())
        hosts = {int(seats.host[rank]) for rank in deaths}
        for rank in range(seats.world):
            if rank in deaths:
                death = deaths[rank]
            elif int(seats.host[rank]) in hosts and self._random.random() < 0.7:
                death = Death(first + float(self._random.uniform(0.3, 1.2)), signal=15)
            else:
                wait = self._random.uniform(0.2, 1.0) * attempt.job.teardown_seconds
                death = Death(
                    first + float(wait),
                    exit_code=1,
                    signature="torch.remote_closed",
                    text="Connection closed by peer",
                )
            attempt.deaths[rank] = death
            attempt.died[rank] = death.at
        attempt.crashed = True

    def _abort(self, at: float, alive: NDArray[np.bool_]) -> None:
        """End everybody that still lives by the watchdog of the collectives."""
        attempt = self.attempt
        for rank in np.flatnonzero(alive):
            moment = at + float(self._random.uniform(0, 2))
            attempt.deaths[int(rank)] = Death(
                moment,
                signal=6,
                signature="nccl.watchdog_timeout",
                text="Watchdog caught collective operation timeout",
            )
            attempt.died[rank] = moment
        attempt.crashed = True

    def _wait_out(self, to: Array, state: Conditions) -> None:
        """Add what ranks use while they wait, up to `to`, for one that never comes."""
        seats, job = self._seats, self._job
        span = np.maximum(to - self._free, 0)
        stopped = ~np.isnan(state.stopped[seats.slot])
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
        self, end: Array, work: Work, comm: Array, optimizer: Array, state: Conditions
    ) -> None:
        """Add what the ranks used in a finished step."""
        seats, job = self._seats, self._job
        held = work.launch * (1 / work.share - 1)
        quota = state.quota_share[seats.slot] < 1
        # A stolen CPU looks like a running one from inside the guest; a quota shows as waiting.
        stolen = state.steal[seats.host] > 0
        cpu = work.launch + optimizer + 0.1 * work.data + comm * (1.0 if job.spins else 0.03)
        math = work.device if self._gpus else work.compute
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
        job, attempt = self._job, self.attempt
        done = self._step
        if job.checkpoint_every and done % job.checkpoint_every == 0:
            state = self._conditions(float(self._free.max()))
            seconds = job.checkpoint_seconds * self._lognormal(0.15, self._seats.world)
            seconds = seconds * state.nodes.storage[self._seats.host]
            if job.checkpoint_by == "first":
                seconds = np.where(np.arange(self._seats.world) == 0, seconds, 0.02)
            self._pause("checkpoint", seconds, kernel=0.02)
            if job.step_holds_pauses:
                attempt.steps.end[-1] = self._free
                attempt.steps.checkpoint[-1] = seconds
            else:
                self._pending_checkpoint = seconds
        if job.eval_every and done % job.eval_every == 0:
            span = job.eval_seconds * self._lognormal(0.05, self._seats.world)
            span = np.maximum(span, span.max())
            if job.eval_by == "first":
                span = np.where(np.arange(self._seats.world) == 0, span, 0.02)
            self._pause("eval", span, kernel=0.7)

    def _pause(self, phase: str, seconds: Array, *, kernel: float) -> None:
        attempt = self.attempt
        if self._job.announces:
            attempt.phases.append((float(self._free.max()), phase, self._step))
        self._free = self._free + seconds
        attempt.segments.add(
            self._free, cpu=0.6 * seconds, kernel=kernel * seconds, math=kernel * seconds
        )
        if self._job.announces:
            attempt.phases.append((float(self._free.min()), "train", self._step))

    def _finish(self, at: float, *, killed: bool) -> None:
        """End the attempt in order: by its own end, or asked to by the scheduler."""
        attempt, by = self.attempt, self._job.stopped_by
        if self._job.announces:
            attempt.phases.append((at, "shutdown", self._step))
        for rank in range(self._seats.world):
            moment = at + 0.5 + float(self._random.uniform(0, 1.5))
            if rank not in attempt.deaths:
                death = Death(moment, signal=15) if killed else Death(moment, exit_code=0)
                if killed and (by == "kill" or (by == "term_kill" and rank % 3 == 1)):
                    death = Death(moment + _GRACE_SECONDS, signal=9)
                attempt.deaths[rank] = death
                attempt.died[rank] = moment

    def _lognormal(self, spread: float, size: int | None = None) -> Any:
        """Return one factor around 1 with this spread, or an array of them."""
        return self._random.lognormal(0.0, spread, size)
