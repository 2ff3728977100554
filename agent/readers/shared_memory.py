"""Shared memory: how full /dev/shm is, where data loaders and collectives keep their buffers."""

import os
from pathlib import Path

from ...vocabulary.samples import Sample


class SharedMemory:
    """Reads the /dev/shm that the agent sees; a container with its own has another one."""

    name = "shm"

    def __init__(self, *, period: float, folder: Path = Path("/dev/shm")) -> None:  # noqa: S108
        self.period = period
        self._folder = folder

    def supported(self) -> tuple[bool, str]:
        if os.path.ismount(self._folder):
            return True, ""
        return False, f"{self._folder} is not mounted here"

    def read(self, now: float) -> list[Sample]:
        """Return usage and limit in bytes."""
        status = os.statvfs(self._folder)
        limit = status.f_blocks * status.f_frsize
        return [
            Sample("system.shm.usage", float(limit - status.f_bfree * status.f_frsize), now),
            Sample("system.shm.limit", float(limit), now),
        ]
