"""Paging: swap in use, pages going there and back, and page faults that waited for a disk."""

import os
from pathlib import Path

from ...vocabulary.samples import Sample, attributes
from .. import procfs

_OPERATIONS = tuple(
    (name, attributes({"direction": direction}))
    for name, direction in (("pswpin", "in"), ("pswpout", "out"))
)


class PagingReader:
    """Reads /proc/vmstat and /proc/meminfo."""

    name = "paging"

    def __init__(self, *, period: float, proc: Path = procfs.PROC) -> None:
        self.period = period
        self._proc = proc

    def supported(self) -> tuple[bool, str]:
        """Return whether /proc/vmstat can be read."""
        if os.access(self._proc / "vmstat", os.R_OK):
            return True, ""
        return False, f"{self._proc}/vmstat cannot be read"

    def read(self, now: float) -> list[Sample]:
        """Return bytes of swap, pages moved since the host started, and major faults."""
        counted = procfs.read(f"{self._proc}/vmstat") or ""
        memory = procfs.read(f"{self._proc}/meminfo") or ""
        samples = [
            Sample("system.paging.operations", float(pages), now, pairs)
            for name, pairs in _OPERATIONS
            if (pages := procfs.number(counted, name)) is not None
        ]
        if (faults := procfs.number(counted, "pgmajfault")) is not None:
            samples.append(Sample("system.paging.major_faults", float(faults), now))
        total, free = (procfs.number(memory, name) for name in ("SwapTotal:", "SwapFree:"))
        if total is not None and free is not None:
            samples += [
                Sample("system.paging.usage", float((total - free) * 1024), now),
                Sample("system.paging.limit", float(total * 1024), now),
            ]
        return samples
