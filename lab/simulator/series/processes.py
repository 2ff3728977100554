"""The memory of processes on their hosts: trainers and data loader workers.

As the agent reads it: of a trainer RssAnon as private and RssShmem as shared, of a worker the sums
over its mappings. A forked worker shares its trainer's pages until one of the two writes to them.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, attributes
from .. import memory
from ..conditions import ClusterConditions
from ..memory import GIB
from ..progress import SimulatedAttempt
from ..site import SimulatedSite
from . import SimulatedSeries
from .readings import life, ticks
from .resources import of_job, of_node

Array = NDArray[np.float64]
_OWN = 0.35 * GIB
"""What a data loader's worker allocates for itself."""
_COPIED_SHARE = 0.25
"""Share of the inherited pages that a healthy worker comes to write to; it levels off."""


def series(attempt: SimulatedAttempt, site: SimulatedSite) -> list[SimulatedSeries]:
    found: list[SimulatedSeries] = []
    seats = attempt.seats
    random = np.random.default_rng([site.seed, 17, attempt.number])
    for host in np.unique(seats.host).tolist():
        at = ticks(attempt.born + 2.0, site.seconds, site.reporting.rank, float(site.phases[host]))
        states = [site.conditions(float(moment)) for moment in at]
        for rank in np.flatnonzero(seats.host == host).tolist():
            begin, end = life(attempt, rank, site.seconds)
            alive = (at >= begin + 2.0) & (at < end)
            kept = [state for state, lives in zip(states, alive, strict=True) if lives]
            if kept:
                found += _TrainerMemory(attempt, site, rank, at[alive], kept, random).series()
    return found


class _TrainerMemory:
    """The memory of one rank's trainer and its workers."""

    def __init__(
        self,
        attempt: SimulatedAttempt,
        site: SimulatedSite,
        rank: int,
        at: Array,
        states: Sequence[ClusterConditions],
        random: np.random.Generator,
    ) -> None:
        self._attempt, self._site, self._rank = attempt, site, rank
        self._at, self._states, self._random = at, states, random
        self._slot = int(attempt.seats.slot[rank])
        self._host = int(attempt.seats.host[rank])
        self._pid = int(attempt.seats.pid[rank])
        self._found: list[SimulatedSeries] = []

    def series(self) -> list[SimulatedSeries]:
        self._trainer()
        for worker in range(self._attempt.job.workers):
            self._worker(worker)
        return self._found

    def _add(self, metric: str, value: Array, **pairs: Scalar) -> None:
        if self._site.reporting.shows(metric):
            resource = of_job(self._attempt, self._host, self._site.cluster.name)
            whole: Array = np.maximum(value, 0.0).round()
            self._found.append(
                SimulatedSeries(self._host, resource, metric, attributes(pairs), self._at, whole)
            )

    def _of(self, amount: Callable[[ClusterConditions], float]) -> Array:
        return np.array([amount(state) for state in self._states], dtype=np.float64)

    def _settled(self, seconds: float) -> Array:
        """Return how far what grows at the start has grown: from 0 to 1."""
        settled: Array = 1 - np.exp(-(self._at - self._attempt.born) / seconds)
        return settled

    def _trainer(self) -> None:
        who: dict[str, Scalar] = {"rank": self._rank, "pid": self._pid, "role": "trainer"}
        size = (6 + 2.5 * self._random.random()) * GIB
        steady = 0.85 + 0.15 * self._settled(self._attempt.job.host_memory_steady)
        wobble = 1 + 0.002 * self._random.standard_normal(len(self._at))
        held = self._of(lambda state: state.training.trainer_held[self._slot])
        usual = size * steady * wobble
        self._add("process.memory.usage", usual + held, **who)
        self._add("process.memory.private", 0.7 * usual + held, **who)
        buffers = memory.shm_used(self._attempt.job, 1)
        self._add("process.memory.shared", np.full(len(self._at), buffers), **who)

    def _worker(self, worker: int) -> None:
        who: dict[str, Scalar] = {
            "rank": self._rank,
            "pid": self._pid + 1 + worker,
            "role": "dataloader",
        }
        job = self._attempt.job
        touched = _COPIED_SHARE * self._random.uniform(0.6, 1.2) * self._settled(90.0)
        copied = np.minimum(touched + self._of(lambda s: s.training.copied[self._slot]), 1.0)
        wobble = 0.02 * GIB * np.abs(self._random.standard_normal(len(self._at)))
        own = _OWN + wobble + self._of(lambda s: s.training.worker_held[self._slot])
        self._add("process.memory.usage", job.inherited + own, **who)
        if float((job.inherited + own).max()) < 4 * GIB:
            # The agent walks the mappings of small workers only.
            self._add("process.memory.private", copied * job.inherited + own, **who)
            self._add("process.memory.shared", (1 - copied) * job.inherited, **who)


def shared_memory(
    attempts: Sequence[SimulatedAttempt], site: SimulatedSite
) -> list[SimulatedSeries]:
    """Return how full /dev/shm is on every host; a lost host sends nothing more."""
    found: list[SimulatedSeries] = []
    for host in range(site.cluster.hosts):
        random = np.random.default_rng([site.seed, 18, host])
        history = site.history(host, site.reporting.node)
        at = history.at
        used = np.array([state.training.shm_held[host] for state in history.states])
        for attempt in attempts:
            seats = attempt.seats
            ranks = np.flatnonzero(seats.host == host)
            if len(ranks):
                on = (at >= attempt.born + 2.0) & (at < float(attempt.died[ranks].max()))
                used = used + on * memory.shm_used(attempt.job, len(ranks))
        used = used * (1 + 0.01 * random.standard_normal(len(at)))
        rows = {
            "system.shm.usage": np.minimum(used, memory.SHM_LIMIT),
            "system.shm.limit": np.full(len(at), memory.SHM_LIMIT),
        }
        for metric, value in rows.items():
            if site.reporting.shows(metric) and len(at):
                resource = of_node(host, site.cluster.name)
                whole: Array = np.round(np.maximum(value, 0.0)).astype(float)
                found.append(SimulatedSeries(host, resource, metric, (), at, whole))
    return found
