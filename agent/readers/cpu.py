"""The CPUs of the host: how busy they are, and what the hypervisor took.

Only CPUs that the agent itself may run on count: an agent pinned to a part of a machine reports
that part, and an agent that is pinned to nothing the whole.
"""

import os
from collections.abc import Callable
from pathlib import Path

from ...vocabulary.samples import Sample
from .. import procfs

# Columns of /proc/stat: user nice system idle iowait irq softirq steal; guest time is in user.
_IDLE = (3, 4)
_STEAL = 7
_COLUMNS = 8


class CpuReader:
    """Reads /proc/stat."""

    name = "cpu"

    def __init__(
        self,
        *,
        period: float,
        proc: Path = procfs.PROC,
        allowed: Callable[[], set[int]] = lambda: os.sched_getaffinity(0),
    ) -> None:
        self.period = period
        self._stat = f"{proc}/stat"
        self._allowed = allowed
        self._last: dict[int, tuple[int, ...]] = {}

    def supported(self) -> tuple[bool, str]:
        """Return whether /proc/stat can be read."""
        if os.access(self._stat, os.R_OK):
            return True, ""
        return False, f"{self._stat} cannot be read"

    def read(self, now: float) -> list[Sample]:
        """Return utilisation since the last reading (none the first time), steal, and the count."""
        allowed = self._allowed()
        times = {cpu: row for cpu, row in _rows(procfs.read(self._stat) or "") if cpu in allowed}
        busy = total = 0
        for cpu, row in times.items():
            if cpu in self._last:
                passed = [
                    after - before for before, after in zip(self._last[cpu], row, strict=True)
                ]
                if min(passed) < -procfs.TICKS:
                    continue  # the CPU was away and counts anew; idle may step back a little
                whole = sum(passed)
                total += whole
                busy += whole - sum(passed[column] for column in (*_IDLE, _STEAL))
        self._last = times
        steal = sum(row[_STEAL] for row in times.values()) / procfs.TICKS
        samples = [
            Sample("system.cpu.logical.count", float(len(times)), now),
            Sample("system.cpu.steal", steal, now),
        ]
        if total > 0:
            share = min(1.0, max(0.0, busy / total))
            samples.append(Sample("system.cpu.utilization", share, now))
        return samples


def _rows(text: str) -> list[tuple[int, tuple[int, ...]]]:
    rows = []
    for line in text.splitlines():
        if not line.startswith("cpu"):
            break  # the CPUs come first; the interrupts' line below is long
        name, *columns = line.split()
        if name != "cpu":
            rows.append((int(name[3:]), tuple(map(int, columns[:_COLUMNS]))))
    return rows
