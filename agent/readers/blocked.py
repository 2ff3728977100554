"""Blocked processes: those that wait in the kernel and cannot be interrupted (state D)."""

import os
from pathlib import Path

from ...vocabulary.samples import Sample
from .. import procfs

_FIELD = "procs_blocked"


class BlockedProcessesReader:
    """Reads procs_blocked of /proc/stat: processes waiting for storage.

    A process stuck in a driver is in state D too but not always in this number, so trainers'
    threads are not evaluated by it.
    """

    name = "blocked"

    def __init__(self, *, period: float, proc: Path = procfs.PROC) -> None:
        self.period = period
        self._stat = proc / "stat"

    def supported(self) -> tuple[bool, str]:
        """Return whether the kernel counts them."""
        if not os.access(self._stat, os.R_OK):
            return False, f"{self._stat} cannot be read"
        if _FIELD not in self._stat.read_text():
            return False, f"{self._stat} has no {_FIELD}"
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return how many there are at this moment."""
        for line in self._stat.read_text().splitlines():
            if line.startswith(_FIELD):
                return [Sample("system.processes.blocked", float(line.split()[1]), now)]
        return []
