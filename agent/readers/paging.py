"""Paging: swap in use, pages going there and back, and page faults that waited for a disk."""

import os
from pathlib import Path

from ...vocabulary.samples import Sample, attributes
from .. import procfs

_OPERATIONS = (("pswpin", "in"), ("pswpout", "out"))


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
        counted = fields(procfs.read(f"{self._proc}/vmstat") or "")
        memory = fields(procfs.read(f"{self._proc}/meminfo") or "")
        samples = [
            Sample(
                "system.paging.operations",
                float(counted[name]),
                now,
                attributes({"direction": direction}),
            )
            for name, direction in _OPERATIONS
            if name in counted
        ]
        if "pgmajfault" in counted:
            samples.append(Sample("system.paging.major_faults", float(counted["pgmajfault"]), now))
        if "SwapTotal" in memory and "SwapFree" in memory:
            total, free = memory["SwapTotal"] * 1024, memory["SwapFree"] * 1024
            samples += [
                Sample("system.paging.usage", float(total - free), now),
                Sample("system.paging.limit", float(total), now),
            ]
        return samples


def fields(text: str) -> dict[str, int]:
    """Return the numbers of /proc/vmstat ("name 1") or /proc/meminfo ("Name: 1 kB") by name."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        number = rest.split(maxsplit=1)[0] if rest.strip() else ""
        if number.isdigit():
            found[name.rstrip(":")] = int(number)
    return found
