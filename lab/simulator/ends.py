"""How attempts end, or never begin: crashes and their peers, hangs, time-outs, orderly ends."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .conditions import ClusterConditions, ProcessDeath
from .placement import RankSeats
from .progress import SimulatedAttempt, UnfinishedStep

Array = NDArray[np.float64]
_GRACE_SECONDS = 30.0
"""A scheduler kills what has not ended so long after SIGTERM."""


def initialised(
    attempt: SimulatedAttempt,
    conditions: Callable[[float], ClusterConditions],
    stop: float,
    random: np.random.Generator,
) -> bool:
    """Tell whether the attempt reaches its first step; end its processes where it does not."""
    effects = conditions(attempt.born).training
    if not effects.init:
        return True
    world = attempt.seats.world
    if effects.init == "fails":
        at = attempt.born + 0.6 * attempt.job.init_seconds
        rank = int(random.integers(world))
        text = "RuntimeError: CUDA error: invalid device ordinal"
        death = ProcessDeath.raised(at, "RuntimeError", text)
        cascade(attempt, {rank: death}, random)
        return False
    at = attempt.born + effects.init_timeout
    if at < stop:
        text = (
            f"DistStoreError: Timed out after {effects.init_timeout:.0f} seconds waiting for "
            f"clients. {world - 1}/{world} clients joined."
        )
        for rank in range(world):
            moment = at + float(random.uniform(0, 2))
            attempt.deaths[rank] = ProcessDeath.raised(moment, "DistStoreError", text)
            attempt.died[rank] = moment
        attempt.crashed = True
    return False


def unreachable(
    attempt: SimulatedAttempt,
    conditions: Callable[[float], ClusterConditions],
    free: Array,
    stop: float,
    random: np.random.Generator,
) -> bool:
    """Tell whether peers cannot reach a host of the job; all wait, then give up."""
    seats = attempt.seats
    state = conditions(float(free.max()))
    if (seats.host == seats.host[0]).all() or not state.nodes.unreachable[seats.host].any():
        return False
    at = float(free.max()) + attempt.job.start_timeout
    if at < stop:
        for rank in range(seats.world):
            moment = at + float(random.uniform(0, 2))
            alone = bool(state.nodes.unreachable[seats.host[rank]])
            text = "Bootstrap : no socket interface found" if alone else "Connection timed out"
            attempt.deaths[rank] = ProcessDeath(
                moment,
                exit_code=1,
                signature="python.DistBackendError",
                text=f"DistBackendError: NCCL error: unhandled system error. Last error: {text}",
                role="root" if alone else "cascade",
            )
            attempt.died[rank] = moment
        attempt.crashed = True
    waited = np.minimum(attempt.died, stop)
    attempt.segments.add(waited, cpu=0.05 * np.maximum(waited - free, 0))
    return True


def paused(
    state: ClusterConditions, seats: RankSeats, start: Array, own: Array, halted: float
) -> tuple[Array, Array]:
    """Return where in its own work each rank stood still in a step that ended, and for how long.

    `halted`: when the stopped ones had done their work after all; 0: none was stopped.
    """
    stop = np.nan_to_num(state.stopped[seats.slot], nan=1.0)
    if not halted:
        return np.ones(seats.world), np.zeros(seats.world)
    until = state.released - (start + stop * own)
    return stop, np.where(stop < 1, np.maximum(until, 0.0), 0.0)


def tangled(
    attempt: SimulatedAttempt,
    state: ClusterConditions,
    start: Array,
    own: Array,
    step: int,
    random: np.random.Generator,
) -> UnfinishedStep | None:
    """Return how the ranks stand where their own collectives cannot end; None where they can.

    The host runs ahead of its device: ranks launch the rest of the step behind the operation that
    does not end. Data-parallel operations are the ones that stop; those of model replicas end.
    """
    effects, seats = state.training, attempt.seats
    everybody = np.ones(seats.world)
    if effects.mismatch[seats.slot].any():
        culprits = np.flatnonzero(effects.mismatch[seats.slot])
        found = UnfinishedStep(start, own, everybody, "mismatch", culprits=culprits)
        for group in seats.groups:
            if group.kind == "dp" and np.isin(culprits, group.members).any():
                found.completed[group.name] = int(random.integers(len(group.places)))
        return found
    if effects.leaves[seats.slot].any():
        culprits = np.flatnonzero(effects.leaves[seats.slot])
        limit = everybody.copy()
        limit[culprits] = 0.0
        for rank in culprits.tolist():
            at = float(start[rank]) + 0.2
            if effects.leaves_how == "exits":
                attempt.own_phases.append((at, rank, "shutdown", step))
                attempt.deaths[rank] = ProcessDeath(at + 1.0, exit_code=0)
                attempt.died[rank] = at + 1.0
            elif effects.leaves_how == "evaluates":
                attempt.own_phases.append((at, rank, "eval", step))
        return UnfinishedStep(start, own, limit, "leaves", culprits=culprits)
    if effects.deadlock:
        return _deadlock(attempt, start, own, random)
    return None


def _deadlock(
    attempt: SimulatedAttempt, start: Array, own: Array, random: np.random.Generator
) -> UnfinishedStep:
    """Let half of the ranks wait in the one group and half in the other, each before the other's.

    A thread of its own reduces the metrics; where it comes first on some ranks and second on the
    others, each side waits for an operation that the other launches only afterwards.
    """
    seats = attempt.seats
    first = np.zeros(seats.world, dtype=bool)
    first[random.permutation(seats.world)[: max(seats.world // 2, 1)]] = True
    found = UnfinishedStep(start, own, np.ones(seats.world), "deadlock")
    for group in seats.groups:
        if group.kind == "dp":
            found.launched[group.name] = np.where(first[group.members], 1, 0)
            found.completed[group.name] = 0
        elif group.kind == "other":
            found.launched[group.name] = np.where(first[group.members], 0, 1)
            found.completed[group.name] = 0
    return found


def cascade(
    attempt: SimulatedAttempt, deaths: dict[int, ProcessDeath], random: np.random.Generator
) -> None:
    """End the peers of the dead: the launcher kills those beside, the network reports others."""
    seats = attempt.seats
    first = min(death.at for death in deaths.values())
    hosts = {int(seats.host[rank]) for rank in deaths}
    for rank in range(seats.world):
        if rank in deaths:
            death = deaths[rank]
        elif int(seats.host[rank]) in hosts and random.random() < 0.7:
            death = ProcessDeath(first + float(random.uniform(0.3, 1.2)), signal=15)
        else:
            wait = random.uniform(0.2, 1.0) * attempt.job.teardown_seconds
            death = ProcessDeath(
                first + float(wait),
                exit_code=1,
                signature="torch.remote_closed",
                text="Connection closed by peer",
            )
        attempt.deaths[rank] = death
        attempt.died[rank] = death.at
    attempt.crashed = True


def abort(
    attempt: SimulatedAttempt, at: float, alive: NDArray[np.bool_], random: np.random.Generator
) -> None:
    """End everybody that still lives by the watchdog of the collectives."""
    for rank in np.flatnonzero(alive & ~np.isfinite(attempt.died)).tolist():
        moment = at + float(random.uniform(0, 2))
        attempt.deaths[rank] = ProcessDeath(
            moment,
            signal=6,
            signature="nccl.watchdog_timeout",
            text="Watchdog caught collective operation timeout",
        )
        attempt.died[rank] = moment
    attempt.crashed = True


def finish(
    attempt: SimulatedAttempt, at: float, step: int, random: np.random.Generator, *, killed: bool
) -> None:
    """End the attempt in order: by its own end, or asked to by the scheduler."""
    by = attempt.job.stopped_by
    if attempt.job.announces:
        attempt.phases.append((at, "shutdown", step))
    for rank in range(attempt.seats.world):
        moment = at + 0.5 + float(random.uniform(0, 1.5))
        if rank not in attempt.deaths:
            death = ProcessDeath(moment, signal=15) if killed else ProcessDeath(moment, exit_code=0)
            if killed and (by == "kill" or (by == "term_kill" and rank % 3 == 1)):
                death = ProcessDeath(moment + _GRACE_SECONDS, signal=9)
            attempt.deaths[rank] = death
            attempt.died[rank] = moment
