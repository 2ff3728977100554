"""Container memory: what the cgroup of each trainer uses, and what it may use (v2 and v1)."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ...vocabulary.samples import Sample
from .. import procfs
from ..control_groups import ControlGroups
from ..trainers import TrainerProcess

_FILES = (("memory.current", "memory.max"), ("memory.usage_in_bytes", "memory.limit_in_bytes"))
_NO_LIMIT = 1 << 62
"""cgroup v1 writes the highest number of pages for "no limit"."""


class ContainerMemory:
    """Reads the memory controller. Usage includes the page cache, which can be taken back."""

    name = "container_memory"

    def __init__(
        self,
        *,
        period: float,
        trainers: Callable[[], Sequence[TrainerProcess]],
        proc: Path = procfs.PROC,
    ) -> None:
        self.period = period
        self._trainers = trainers
        self._groups = ControlGroups("memory", proc=proc)

    def supported(self) -> tuple[bool, str]:
        """Return whether a memory controller is mounted."""
        return self._groups.mounted()

    def read(self, now: float) -> list[Sample]:
        """Return bytes in use and the limit; no limit where there is none."""
        samples: list[Sample] = []
        for pairs, (usage, limit) in self._groups.of_trainers(self._trainers(), _read):
            samples.append(Sample("container.memory.usage", float(usage), now, pairs))
            if limit is not None:
                samples.append(Sample("container.memory.limit", float(limit), now, pairs))
        return samples


def _read(folder: str) -> tuple[int, int | None] | None:
    for usage_file, limit_file in _FILES:
        usage = _number(procfs.read(f"{folder}/{usage_file}"))
        if usage is not None:
            limit = _number(procfs.read(f"{folder}/{limit_file}"))  # "max" is not a number
            return usage, limit if limit is not None and limit < _NO_LIMIT else None
    return None


def _number(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isdigit() else None
