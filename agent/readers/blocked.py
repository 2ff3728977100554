"""Blocked processes: those that wait in the kernel and cannot be interrupted (state D)."""

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
        self._stat = f"{proc}/stat"

    def supported(self) -> tuple[bool, str]:
        """Return whether the kernel counts them."""
        if self._count() is None:
            return False, f"{self._stat} cannot be read, or has no {_FIELD}"
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return how many there are at this moment."""
        count = self._count()
        return [] if count is None else [Sample("system.processes.blocked", float(count), now)]

    def _count(self) -> int | None:
        return procfs.number(procfs.read(self._stat) or "", _FIELD)
