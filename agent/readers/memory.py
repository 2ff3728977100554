"""The memory of the host: what cannot be had any more, and the whole."""

import psutil

from ...vocabulary.samples import Sample


class MemoryReader:
    """Reads what the kernel thinks is available to new work; the rest is in use."""

    name = "memory"

    def __init__(self, *, period: float) -> None:
        self.period = period

    def supported(self) -> tuple[bool, str]:
        """Every Linux has it."""
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return usage and limit in bytes."""
        memory = psutil.virtual_memory()
        return [
            Sample("system.memory.usage", float(memory.total - memory.available), now),
            Sample("system.memory.limit", float(memory.total), now),
        ]
