"""Who works for a trainer: its data loader's worker processes, found among its children."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import procfs
from ..trainers import TrainerProcess

_COMMAND = "pt_data_worker"
"""What PyTorch calls a worker's main thread."""
_SPAWNED = ("--multiprocessing-fork", "multiprocessing.spawn", "multiprocessing.forkserver")
_NOT_WORKERS = ("resource_tracker",)
_MOST = 256


@dataclass(frozen=True, slots=True)
class LoaderWorker:
    """A data loader's process and the trainer it works for."""

    pid: int
    trainer: TrainerProcess


class LoaderWorkers:
    """Looks again after `refresh` seconds, or when the trainers are others: looking is dear."""

    def __init__(
        self,
        *,
        trainers: Callable[[], Sequence[TrainerProcess]],
        adopt: Callable[[Sequence[tuple[int, int]]], None],
        refresh: float,
        proc: Path = procfs.PROC,
    ) -> None:
        self.trainers = trainers
        self._adopt = adopt
        self._refresh = refresh
        self._proc = proc
        self._found: list[LoaderWorker] = []
        self._found_at = -math.inf
        self._found_for: set[int | None] = set()

    def find(self, now: float) -> list[LoaderWorker]:
        """Return the workers of all trainers, as of `refresh` seconds ago at most.

        One that has ended since is still among them: readers find nothing under its number.
        """
        pids = {trainer.pid for trainer in self.trainers()}
        if pids != self._found_for or not 0 <= now - self._found_at < self._refresh:
            self._found = self._look()
            self._found_at, self._found_for = now, pids
        return self._found

    def _look(self) -> list[LoaderWorker]:
        found: list[LoaderWorker] = []
        trainers = [trainer for trainer in self.trainers() if trainer.pid is not None]
        known = {trainer.pid for trainer in trainers}
        for trainer in trainers:
            if trainer.pid is None:
                continue
            line = self._command_line(trainer.pid)
            children = self._children(trainer.pid)[:_MOST]
            found += [
                LoaderWorker(child, trainer)
                for child in children
                if child not in known and self._works(child, line)
            ]
        self._adopt([(worker.pid, worker.trainer.pid or 0) for worker in found])
        return found

    def _children(self, pid: int) -> list[int]:
        """Return the children of all threads: a loader may be started from any of them."""
        children: list[int] = []
        folder = f"{self._proc}/{pid}/task"
        for thread in procfs.names(folder):
            text = procfs.read(f"{folder}/{thread}/children")
            children += map(int, (text or "").split())
        return children

    def _works(self, pid: int, parents_line: str) -> bool:
        """Tell workers from the other children of a trainer: shells, compilers, trackers.

        A forked worker still carries its parent's command line; a spawned one has one of its own.
        """
        found = procfs.stat(pid, self._proc)
        if found is None:
            return False
        if found.command == _COMMAND:
            return True
        line = self._command_line(pid)
        if any(word in line for word in _NOT_WORKERS):
            return False
        return bool(line) and (line == parents_line or any(word in line for word in _SPAWNED))

    def _command_line(self, pid: int) -> str:
        return (procfs.read(f"{self._proc}/{pid}/cmdline") or "").replace("\0", " ")
