"""Readers: each looks at one thing of the node. This page is their contract and their list.

A reader is one file here and one line in `everything`. It reads, it does not judge; hardware that
is not there is an answer (`supported`), not an exception. `read` runs in a thread of its own, may
raise (counted, tried again next period) and may even hang: then it is abandoned until it returns,
and the others go on.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from ...vocabulary.samples import Sample
from ..trainers import Trainer
from . import (
    blocked,
    clock_offset,
    cpu,
    disks,
    filesystems,
    memory,
    shared_memory,
    throttling,
    trainer_cpu,
    trainer_memory,
    worker_memory,
    workers,
)


class Reader(Protocol):
    """What a reader offers."""

    name: str
    """One word or two, as settings, health and `rankscope doctor` call it."""

    period: float
    """Seconds between two readings; what is older than three periods is not shown any more."""

    def supported(self) -> tuple[bool, str]:
        """Tell whether this node has what is read; if not, why not, and what would help."""
        ...

    def read(self, now: float) -> list[Sample]:
        """Return the samples of one reading, timed `now` (seconds since the epoch)."""
        ...


def everything(
    *,
    period: float,
    trainers: Callable[[], Sequence[Trainer]],
    adopt: Callable[[Sequence[tuple[int, int]]], None],
    proc: Path = Path("/proc"),
) -> list[Reader]:
    """Return every reader there is.

    `trainers` tells which training processes run here; `adopt` takes (worker, trainer) pids.
    """
    found = workers.Workers(trainers=trainers, adopt=adopt, refresh=2.5 * period, proc=proc)
    return [
        cpu.Cpu(period=period, proc=proc),
        memory.Memory(period=period),
        filesystems.Filesystems(period=period),
        disks.Disks(period=period),
        shared_memory.SharedMemory(period=period),
        blocked.Blocked(period=period, proc=proc),
        clock_offset.ClockOffset(period=period),
        trainer_cpu.TrainerCpu(period=period, workers=found, proc=proc),
        trainer_memory.TrainerMemory(period=period, workers=found, proc=proc),
        worker_memory.WorkerMemory(period=6 * period, workers=found, proc=proc),
        throttling.Throttling(period=period, trainers=trainers, proc=proc),
    ]
