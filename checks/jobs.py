"""Training processes on this node, by what launchers leave in their environment."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .measurements import system_files

_RANK = (b"RANK", b"SLURM_PROCID", b"OMPI_COMM_WORLD_RANK", b"PMI_RANK")
_MEETS = (b"MASTER_ADDR", b"WORLD_SIZE")
"""A rank that is to meet others has one of _RANK and all of these."""
_PLACE = (b"MASTER_ADDR", b"MASTER_PORT")
_MOST = 1 << 17
_SETTLED_SECONDS = 10.0
"""Older processes are read once: what becomes a rank by an exec does so as it starts."""


@dataclass(frozen=True, slots=True)
class RunningTrainer:
    """A process that is a rank of some job."""

    pid: int
    name: str
    rank: int | None = None
    meets: str = ""
    """Where its job meets: one place a job."""


class TrainerFinder(Protocol):
    """Whoever knows whether a job runs here."""

    def first(self) -> RunningTrainer | None:
        """Return a rank that runs here, None where none is seen."""
        ...

    def everyone(self) -> Sequence[RunningTrainer]:
        """Return the ranks that run here."""
        ...


class TrainerWatch:
    """Looks through processes for ranks; each process is read once.

    `own`: process ids that are no job: the caller's, and those above it.
    """

    def __init__(self, *, root: Path = Path("/proc"), own: frozenset[int] | None = None) -> None:
        self._root = root
        self._own = own if own is not None else frozenset(system_files.ancestry(root, os.getpid()))
        self._known: dict[tuple[int, int], tuple[RunningTrainer | None, float]] = {}

    def first(self) -> RunningTrainer | None:
        """Return a rank that runs here, None where none is seen."""
        return next(iter(self.everyone()), None)

    def everyone(self) -> Sequence[RunningTrainer]:
        """Return the ranks that run here."""
        now = time.monotonic()
        known: dict[tuple[int, int], tuple[RunningTrainer | None, float]] = {}
        for pid in self._pids():
            try:
                started = (self._root / str(pid)).stat().st_ino
            except OSError:
                continue
            found, since = self._known.get((pid, started), (None, now))
            if found is None and now - since <= _SETTLED_SECONDS:
                found = self._read(pid)
            known[pid, started] = (found, since)
        self._known = known
        return [found for found, _ in known.values() if found is not None]

    def _pids(self) -> Iterator[int]:
        try:
            names = os.listdir(self._root)  # noqa: PTH208  names alone
        except OSError:
            return
        for name in names:
            if name.isdigit() and int(name) not in self._own:
                yield int(name)

    def _read(self, pid: int) -> RunningTrainer | None:
        folder = self._root / str(pid)
        try:
            with (folder / "environ").open("rb") as file:
                held = file.read(_MOST)
            if b"MASTER_ADDR=" not in held:
                return None
            pairs = [row.partition(b"=") for row in held.split(b"\0")]
            names = {name: value for name, _, value in pairs}
            if not names.keys() >= set(_MEETS) or names.keys().isdisjoint(_RANK):
                return None
            if b"RANKSCOPE_CHECK_PARENT" in names:
                return None  # a check's own
            rank = next(names[name] for name in _RANK if name in names)
            return RunningTrainer(
                pid,
                (folder / "comm").read_text(errors="replace").strip(),
                int(rank) if rank.isdigit() else None,
                b":".join(names.get(name, b"") for name in _PLACE).decode(errors="replace"),
            )
        except OSError:
            return None  # it ended, or is another user's
