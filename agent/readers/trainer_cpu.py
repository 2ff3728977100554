"""The CPU time of trainers and their workers: how much they use, and how long they wait for one."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...vocabulary.samples import Attributes, Sample, attributes
from .. import procfs
from ..trainers import TrainerProcess
from .workers import LoaderWorkers

_USER, _SYSTEM = 14, 15
_IDLE, _SELDOM = 3, 4
"""A trainer has hundreds of threads and most of them sleep: one that did nothing for three
readings is looked at in every fourth."""


@dataclass(frozen=True, slots=True)
class _ThreadStat:
    """A thread's schedstat, nanoseconds waited, and for how many readings it did nothing."""

    text: str
    waited: int
    idle: int


@dataclass(slots=True)
class _SeenProcess:
    """What is remembered of one process between two readings."""

    started: int
    ticks: int
    at: float
    readings: int = 0
    threads: dict[str, _ThreadStat] = field(default_factory=dict)
    ended: int = 0  # nanoseconds waited by threads that are no more


class TrainerCpu:
    """Reads stat for use and each thread's schedstat for waits."""

    name = "trainer_cpu"

    def __init__(self, *, period: float, workers: LoaderWorkers, proc: Path = procfs.PROC) -> None:
        self.period = period
        self._workers = workers
        self._proc = proc
        self._seen: dict[int, _SeenProcess] = {}

    def supported(self) -> tuple[bool, str]:
        """Return whether the kernel keeps account of waits."""
        if os.access(f"{self._proc}/self/schedstat", os.R_OK):
            return True, ""
        return False, "the kernel keeps no schedstat (CONFIG_SCHED_INFO): no waits for a CPU"

    def read(self, now: float) -> list[Sample]:
        """Return CPUs in use since the last reading, and seconds waited so far, a process."""
        samples: list[Sample] = []
        seen: dict[int, _SeenProcess] = {}
        for pid, pairs in self._processes(now):
            stat = procfs.stat(pid, self._proc)
            if stat is None:
                continue
            started = int(stat[22])
            ticks = int(stat[_USER]) + int(stat[_SYSTEM])
            before = self._seen.get(pid)
            if before is not None and before.started != started:
                before = None  # another process under the same number
            if before is not None and now > before.at:
                used = (ticks - before.ticks) / procfs.TICKS / (now - before.at)
                samples.append(Sample("process.cpu.utilization", max(0.0, used), now, pairs))
            after = seen[pid] = before or _SeenProcess(started, ticks, now)
            after.ticks, after.at = ticks, now
            samples.append(Sample("process.cpu.wait", self._waited(pid, after), now, pairs))
        self._seen = seen
        return samples

    def _processes(self, now: float) -> Iterator[tuple[int, Attributes]]:
        workers = self._workers.find(now)
        for trainer in self._workers.trainers():
            if trainer.pid is not None:
                yield trainer.pid, described(trainer)
        for worker in workers:
            yield worker.pid, described(worker.trainer, worker=worker.pid)

    def _waited(self, pid: int, seen: _SeenProcess) -> float:
        """Return seconds all threads waited, those that ended included as last seen.

        The sum never falls: a thread's number that is taken over starts again from less, and what
        its first owner waited stays.
        """
        folder = f"{self._proc}/{pid}/task"
        threads: dict[str, _ThreadStat] = {}
        seen.readings += 1
        for number, name in enumerate(procfs.names(folder)):
            last = seen.threads.pop(name, None)
            if last is not None and last.idle >= _IDLE and (number + seen.readings) % _SELDOM:
                threads[name] = last
                continue
            text = procfs.read(f"{folder}/{name}/schedstat")
            if not text:
                continue
            waited = int(text.split()[1])
            if last is not None and waited < last.waited:
                seen.ended += last.waited
            idle = last.idle + 1 if last is not None and text == last.text else 0
            threads[name] = _ThreadStat(text, waited, idle)
        seen.ended += sum(thread.waited for thread in seen.threads.values())
        seen.threads = threads
        return (seen.ended + sum(thread.waited for thread in threads.values())) / 1e9


def described(trainer: TrainerProcess, *, worker: int | None = None) -> Attributes:
    """Return the attributes of a process: a trainer, or a worker of it."""
    return attributes(
        {
            "pid": trainer.pid if worker is None else worker,
            "container.pid": trainer.container_pid if worker is None else None,
            "rank": trainer.rank,
            "role": "trainer" if worker is None else "dataloader",
        }
    )
