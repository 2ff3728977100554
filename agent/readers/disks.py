"""Disks: how long each was busy, and the bytes that went there and back."""

import os
from collections.abc import Iterator
from pathlib import Path

from ...vocabulary.samples import Sample, attributes
from .. import procfs

_VIRTUAL = ("loop", "ram", "zram")
_SECTOR = 512
"""Bytes, whatever the disk's own are: Documentation/block/stat.rst of the kernel."""
# Columns of /proc/diskstats (Documentation/admin-guide/iostats.rst): two numbers, name, counters.
_NAME = 2
_READ = 5
_WRITTEN = 9
_BUSY = 12


class DiskReader:
    """Reads the kernel's counters of whole disks (partitions would count twice)."""

    name = "disks"

    def __init__(
        self, *, period: float, proc: Path = procfs.PROC, sys: Path = Path("/sys")
    ) -> None:
        self.period = period
        self._diskstats = f"{proc}/diskstats"
        self._block = f"{sys}/block"

    def supported(self) -> tuple[bool, str]:
        if next(self._disks(), None) is None:
            return False, "no disk is visible here"
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return seconds busy and bytes moved since the host started."""
        samples: list[Sample] = []
        for columns in sorted(self._disks(), key=lambda one: one[_NAME]):
            device = columns[_NAME]
            busy = attributes({"device": device})
            samples.append(Sample("system.disk.io_time", int(columns[_BUSY]) / 1000, now, busy))
            for direction, column in (("read", _READ), ("write", _WRITTEN)):
                pairs = attributes({"device": device, "direction": direction})
                moved = float(int(columns[column]) * _SECTOR)
                samples.append(Sample("system.disk.io", moved, now, pairs))
        return samples

    def _disks(self) -> Iterator[list[str]]:
        """Yield the columns of each whole disk's line."""
        for line in (procfs.read(self._diskstats) or "").splitlines():
            columns = line.split()
            if len(columns) <= _BUSY or columns[_NAME].startswith(_VIRTUAL):
                continue
            if os.path.isdir(f"{self._block}/{columns[_NAME]}"):  # noqa: PTH112  no Path a disk
                yield columns
