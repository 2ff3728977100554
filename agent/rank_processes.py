"""Processes of this node that a launcher gave a rank: whose they are, and what they were set to."""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..vocabulary import identity
from . import procfs

VARIABLES = frozenset(
    {
        "HOME", "RANKSCOPE_AGENT", "XDG_CACHE_HOME", "SLURM_JOBID",
        "NCCL_RAS_ADDR", "NCCL_RAS_ENABLE",
        "NCCL_PROFILER_PLUGIN", "NCCL_INSPECTOR_ENABLE", "NCCL_INSPECTOR_DUMP_DIR",
        "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_TEMP_FILE",
        "TORCH_HCCL_DEBUG_INFO_PIPE_FILE",
    }
)  # fmt: skip
"""What is kept of an environment: the rest may hold secrets."""

_MOST_PROCESSES = 100_000
_FIND_SECONDS = 2.0
"""Between two looks, less than the period of any that asks: several ask."""

Attempt = tuple[str, int | None]
"""Job and attempt, None where nobody numbers it."""


@dataclass(frozen=True, slots=True)
class RankProcess:
    """A process with a rank's variables. `own_pid` is the pid that it has in its own namespace.

    `parent` is 0 where it is not known.
    """

    job: str
    attempt: int | None
    rank: int
    local_rank: int
    world_size: int
    pid: int
    own_pid: int
    parent: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def of(self) -> Attempt:
        return self.job, self.attempt

    @property
    def agent(self) -> str:
        """Return the agent that it names: its probe reports it there, and that may be another."""
        return self.variables.get("RANKSCOPE_AGENT", "")


@dataclass(slots=True)
class _InspectedProcess:
    """A process that was looked at: twice, for between fork and exec it shows its parent's name."""

    started: int
    looks: int = 0
    found: RankProcess | None = None


class RankProcesses:
    """Looks for them every few seconds at most; for any thread."""

    def __init__(self, proc: Path = procfs.PROC) -> None:
        self.proc = proc
        self._lock = threading.Lock()
        self._looked: dict[int, _InspectedProcess] = {}
        self._found: list[RankProcess] = []
        self._at: float | None = None

    def find(self, now: float) -> list[RankProcess]:
        """Return those of this node, by job and rank; what a rank started itself is among them."""
        with self._lock:
            if self._at is None or not 0 <= now - self._at < _FIND_SECONDS:
                self._at = now
                self._found = self._look()
            return self._found

    def owner(self, process: RankProcess) -> int | None:
        """Return the number of the user that a process runs as, None where it is gone."""
        try:
            return (self.proc / str(process.pid)).stat().st_uid
        except OSError:
            return None

    def started_at(self, process: RankProcess) -> float | None:
        """Return when a process started, in seconds since the epoch, None where it is gone."""
        return procfs.started_at(process.pid, self.proc)

    def path(self, process: RankProcess, name: str) -> Path:
        """Return where the agent finds a path of a process: below its root and working folder."""
        below = f"{self.proc}/{process.pid}"
        return Path(f"{below}/root{name}" if name.startswith("/") else f"{below}/cwd/{name}")

    def _look(self) -> list[RankProcess]:
        pids = {int(name) for name in procfs.names(str(self.proc)) if name.isdecimal()}
        for gone in [pid for pid in self._looked if pid not in pids]:
            del self._looked[gone]
        for pid in sorted(pids)[:_MOST_PROCESSES]:
            self._look_at(pid)
        return sorted(
            (one.found for one in self._looked.values() if one.found is not None),
            key=lambda one: (one.job, one.attempt or 0, one.rank, one.pid),
        )

    def _look_at(self, pid: int) -> None:
        known = self._looked.get(pid)
        if known is not None and known.looks >= 2:
            return
        status = procfs.stat(pid, self.proc)
        if status is None:
            return
        started = int(status[22])
        if known is None or known.started != started:
            known = self._looked[pid] = _InspectedProcess(started)
        known.looks += 1
        known.found = self._read(pid, parent=int(status[4]))

    def _read(self, pid: int, *, parent: int) -> RankProcess | None:
        environ = procfs.environ(pid, self.proc)
        who = identity.identify(environ, pid=pid) if environ else None
        if who is None or not who.launched:
            return None
        own = procfs.status_fields(pid, self.proc).get("NSpid", "").split()
        return RankProcess(
            job=who.job,
            attempt=who.attempt,
            rank=who.rank,
            local_rank=who.local_rank,
            world_size=who.world_size,
            pid=pid,
            own_pid=int(own[-1]) if own and own[-1].isdecimal() else pid,
            parent=parent,
            variables={name: value for name, value in environ.items() if name in VARIABLES},
        )


def expanded(pattern: str, process: RankProcess) -> str:
    """Return a name that a process was given, `~` as its own home."""
    home = process.variables.get("HOME", "")
    return home + pattern[1:] if pattern.startswith("~/") and home else os.fspath(pattern)
