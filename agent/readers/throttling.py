"""Throttling: how long the cgroup of a trainer was held back by its CPU quota (v2 and v1)."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ...vocabulary.samples import Sample
from .. import procfs
from ..control_groups import ControlGroups
from ..trainers import TrainerProcess


class CpuThrottlingReader:
    """Reads cpu.stat of each trainer's cgroup."""

    name = "throttling"

    def __init__(
        self,
        *,
        period: float,
        trainers: Callable[[], Sequence[TrainerProcess]],
        proc: Path = procfs.PROC,
    ) -> None:
        self.period = period
        self._trainers = trainers
        self._groups = ControlGroups("cpu", proc=proc)

    def supported(self) -> tuple[bool, str]:
        """Return whether a cpu controller is mounted."""
        return self._groups.mounted()

    def read(self, now: float) -> list[Sample]:
        """Return seconds a trainer's cgroup was throttled; nothing where no quota is kept."""
        return [
            Sample("container.cpu.throttled", seconds, now, pairs)
            for pairs, seconds in self._groups.of_trainers(self._trainers(), _throttled)
        ]


def _throttled(folder: str) -> float | None:
    text = procfs.read(f"{folder}/cpu.stat") or ""
    fields = dict(line.split()[:2] for line in text.splitlines() if " " in line)
    if "throttled_usec" in fields:  # v2
        return int(fields["throttled_usec"]) / 1e6
    if "throttled_time" in fields:  # v1
        return int(fields["throttled_time"]) / 1e9
    return None
