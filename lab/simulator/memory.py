"""The memory of a job: its device allocators, its processes, and what they hold of their hosts.

A caching allocator keeps what it once needed, so what it reserves follows the largest step so far
and levels off. When a request does not fit it gives back what is cached and tries again (a retry);
when that is not enough the rank ends with an out-of-memory error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .conditions import ClusterConditions, ProcessDeath
from .placement import RankSeats
from .progress import AllocatorState, SimulatedAttempt
from .shape import SimulatedJob

Array = NDArray[np.float64]
GIB = 2.0**30
HOST_MEMORY = 512 * GIB
HOST_HELD = 0.32
"""Share of a host's memory that is taken when its job has started."""
SHM_LIMIT = 64 * GIB
SHM_WORKER = 0.12 * GIB
"""Shared memory that a data loader's worker uses for the batches it hands over."""
CONTEXT = 0.5 * GIB
"""What a process holds on a device before its first tensor; collectives hold as much again."""
_KILL_AT = 0.985
"""Share of a host's memory at which the kernel kills."""


class DeviceAllocators:
    """The device allocators of an attempt's ranks."""

    def __init__(
        self, job: SimulatedJob, seats: RankSeats, size: float, random: np.random.Generator
    ) -> None:
        """Start empty, on devices with `size` bytes.

        The first and the last stage of a pipeline hold embedding and head, too.
        """
        self._size = size
        self._job, self._seats, self._random = job, seats, random
        last = seats.pp == seats.pp.max()
        uneven = (0.06 * (seats.pp == 0) + 0.04 * last) * (job.pp > 1)
        self._static = self._size * job.static * (1 + uneven)
        self._static = self._static * (1 + 0.003 * random.standard_normal(seats.world))
        self._reserved = np.zeros(seats.world)
        self._retries = np.zeros(seats.world)
        self._steps = 0

    def step(
        self, state: ClusterConditions, tokens: Array
    ) -> tuple[AllocatorState, NDArray[np.bool_]]:
        """Return what is held after a step with these tokens per rank, and who ran out in it."""
        job, effects, slot = self._job, state.training, self._seats.slot
        kept = effects.device_held[slot] * self._size
        kept[0] += effects.first_held
        allocated = self._static + kept
        noise = 1 + 0.004 * self._random.standard_normal(self._seats.world)
        # Whoever trains on varying lengths has sized the batch for long ones.
        ratio = tokens / max(job.tokens, 1) / (1 + 2 * job.variable_length)
        ratio = np.minimum(ratio, 1.4)
        peak = allocated + self._size * job.activations * ratio * effects.activations[slot]
        # Blocks are cut to sizes that come again: the cache settles over the first steps.
        settled = 1.10 - 0.06 * np.exp(-self._steps / 25)
        room = self._size - 2 * CONTEXT - _foreign(effects.contexts, self._seats)
        wanted = (peak - kept) * settled * noise + kept + effects.unusable[slot] * self._size
        self._reserved = np.maximum(self._reserved, wanted)
        tight = self._reserved > room
        self._retries += tight * (1.0 + self._random.integers(0, 3, len(tight)))
        self._reserved = np.where(tight, np.minimum(wanted, room), self._reserved)
        out = peak + effects.unusable[slot] * self._size > room
        self._steps += 1
        shown = allocated * (1 + 0.0005 * self._random.standard_normal(len(tight)))
        held = AllocatorState(shown.round(), self._reserved.round(), self._retries.copy())
        return held, out

    def death(self, rank: int, at: float, state: ClusterConditions) -> ProcessDeath:
        """Return how a rank ends that ran out of device memory."""
        slot = int(self._seats.slot[rank])
        loose = (
            self._reserved[rank]
            - self._static[rank]
            - state.training.device_held[slot] * self._size
        )
        loose = max(loose * 0.2, float(state.training.unusable[slot]) * self._size) / GIB
        free = (self._size - 2 * CONTEXT - self._reserved[rank]) / GIB
        text = (
            f"OutOfMemoryError: CUDA out of memory. Tried to allocate "
            f"{self._random.uniform(0.5, 4):.2f} GiB. GPU {self._seats.local[rank]} has a total "
            f"capacity of {self._size / GIB:.2f} GiB of which {max(free, 0.1):.2f} GiB is free. "
            f"Of the allocated memory {(self._reserved[rank] / GIB - loose):.2f} GiB is allocated "
            f"by PyTorch, and {loose:.2f} GiB is reserved by PyTorch but unallocated."
        )
        return ProcessDeath.raised(at, "OutOfMemoryError", text)


def _foreign(contexts: Array, seats: RankSeats) -> Array:
    """Return the bytes that other ranks' processes hold on the device of each rank."""
    found = np.zeros(seats.world)
    for rank in np.flatnonzero(seats.local == 0).tolist():
        beside = (seats.host == seats.host[rank]) & (seats.local != 0)
        found[rank] = contexts[seats.slot[beside]].sum()
    return found


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """A process on a device: `held` are its bytes there at some moments, NaN when it is not."""

    pid: int
    rank: int
    held: Array


def on_device(
    attempt: SimulatedAttempt, rank: int, at: Array, states: Sequence[ClusterConditions]
) -> list[DeviceMemory]:
    """Return the processes of an attempt on the device of a rank: its own, and others' contexts."""
    seats = attempt.seats
    ends = np.array([row[rank] for row in attempt.steps.end])
    reserved = np.array([0.0, *(row.reserved[rank] for row in attempt.steps.held)])
    held = reserved[np.searchsorted(ends, at, side="right")] + 2 * CONTEXT
    there = (at >= attempt.born) & (at < attempt.died[rank])
    found = [DeviceMemory(int(seats.pid[rank]), rank, np.where(there, held, np.nan))]
    if seats.local[rank] == 0:
        beside = np.flatnonzero((seats.host == seats.host[rank]) & (seats.local != 0))
        for other in beside.tolist():
            context = np.array([state.training.contexts[seats.slot[other]] for state in states])
            there = (context > 0) & (at >= attempt.born) & (at < attempt.died[other])
            found.append(
                DeviceMemory(int(seats.pid[other]), other, np.where(there, context, np.nan))
            )
    return [process for process in found if not np.isnan(process.held).all()]


def on_host(
    attempts: Sequence[SimulatedAttempt], host: int, at: Array, states: Sequence[ClusterConditions]
) -> Array:
    """Return the share of a host's memory that processes and /dev/shm hold beyond the start."""
    used = np.array([float(state.training.shm_held[host]) for state in states])
    for attempt in attempts:
        seats = attempt.seats
        here = seats.host == host
        if here.any():
            lives = (at >= attempt.born) & (at < float(attempt.died[here].max()))
            used += lives * np.array(
                [growth(state, attempt.job, seats, host).sum() for state in states]
            )
    return used / HOST_MEMORY


def growth(state: ClusterConditions, job: SimulatedJob, seats: RankSeats, host: int) -> Array:
    """Return what the processes of each rank hold more than at the start, on this host; bytes."""
    effects, slot = state.training, seats.slot
    workers = job.workers * (effects.worker_held[slot] + job.inherited * effects.copied[slot])
    held: Array = np.where(seats.host == host, effects.trainer_held[slot] + workers, 0.0)
    return held


def host_share(state: ClusterConditions, job: SimulatedJob, seats: RankSeats, host: int) -> float:
    """Return the share of a host's memory that is taken; above 1 is more than there is."""
    more = float(growth(state, job, seats, host).sum()) + float(state.training.shm_held[host])
    return HOST_HELD + float(state.swollen[host]) + more / HOST_MEMORY


def killed(
    state: ClusterConditions,
    job: SimulatedJob,
    seats: RankSeats,
    at: float,
    random: np.random.Generator,
) -> dict[int, ProcessDeath]:
    """Return the ranks that the kernel ends now for want of host memory: the largest process.

    Where the data loader's workers have grown it is one of them, and its trainer fails on it.
    """
    found: dict[int, ProcessDeath] = {}
    effects = state.training
    touched = np.flatnonzero(
        (effects.trainer_held[seats.slot] > 0)
        | (effects.worker_held[seats.slot] > 0)
        | (effects.copied[seats.slot] > 0)
    )
    for host in np.unique(seats.host[touched]).tolist():
        if host_share(state, job, seats, host) < _KILL_AT:
            continue
        rank = int(np.argmax(growth(state, job, seats, host)))
        slot = seats.slot[rank]
        oom = effects.kernel_reports
        if job.workers and effects.trainer_held[slot] <= 0:
            worker = int(random.integers(job.workers))
            pid = int(seats.pid[rank]) + 1 + worker
            text = f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Killed."
            death = ProcessDeath.raised(at, "RuntimeError", text)
            found[rank] = replace(death, oom=oom, worker=worker)
        else:
            found[rank] = ProcessDeath(at, signal=9, oom=oom)
    return found


def out_of_shm(
    state: ClusterConditions,
    job: SimulatedJob,
    seats: RankSeats,
    at: float,
    random: np.random.Generator,
) -> dict[int, ProcessDeath]:
    """Return the ranks whose data loader ends now because /dev/shm is full (SIGBUS)."""
    found: dict[int, ProcessDeath] = {}
    held = state.training.shm_held
    for host in np.flatnonzero(held > 0).tolist():
        ranks = np.flatnonzero(seats.host == host)
        if not len(ranks) or held[host] + shm_used(job, len(ranks)) < SHM_LIMIT:
            continue
        rank = int(random.choice(ranks))
        pid = int(seats.pid[rank]) + 1
        text = (
            f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Bus error. "
            "It is possible that dataloader's workers are out of shared memory. "
            "Please try to raise your shared memory limit."
        )
        found[rank] = ProcessDeath(
            at, exit_code=1, signature="python.RuntimeError", text=text, role="root"
        )
    return found


def shm_used(job: SimulatedJob, ranks: int) -> float:
    """Return the bytes of /dev/shm that the ranks of a host use in health."""
    return ranks * (0.05 * GIB + job.workers * SHM_WORKER)
