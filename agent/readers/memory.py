"""The memory of the host: what cannot be had any more, and the whole."""

from pathlib import Path

from ...vocabulary.samples import Sample
from .. import procfs


class MemoryReader:
    """Reads what the kernel thinks is available to new work; the rest is in use."""

    name = "memory"

    def __init__(self, *, period: float, proc: Path = procfs.PROC) -> None:
        self.period = period
        self._meminfo = f"{proc}/meminfo"

    def supported(self) -> tuple[bool, str]:
        """Return whether the kernel says what is available."""
        if self._sizes() is None:
            return False, f"{self._meminfo} has no MemTotal and MemAvailable"
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return usage and limit in bytes."""
        sizes = self._sizes()
        if sizes is None:
            return []
        total, available = sizes
        return [
            Sample("system.memory.usage", float(total - available), now),
            Sample("system.memory.limit", float(total), now),
        ]

    def _sizes(self) -> tuple[int, int] | None:
        """Return all memory and what is available of it, in bytes."""
        text = procfs.read(self._meminfo) or ""
        total, available = (procfs.number(text, name) for name in ("MemTotal:", "MemAvailable:"))
        if total is None or available is None:
            return None
        # In a container whose limit stands in for the whole, what is available is the host's.
        if available > total:
            available = procfs.number(text, "MemFree:") or 0
        return total * 1024, available * 1024
