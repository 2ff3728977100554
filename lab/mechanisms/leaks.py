"""Memory that is kept for ever: by the trainer, or by the worker process of its data loader."""

import time
from collections.abc import Callable
from pathlib import Path

from .contract import UNHURRIED, FaultMechanism, JobChange

MIB = 1 << 20
LEAST_RATE = 2.0 * MIB
"""Bytes a second: 64 MiB, the least that counts as growth, in half a minute."""
HOURS_LEFT = 1.25
"""So fast that the host would be full in so many hours: growth of minutes is drawn on no further
(detectors/memory/growth.py)."""
MOST_SECONDS = 300.0
MOST_SHARE = 0.05
"""It ends after so long, and at this share of what the host has left: nothing comes to harm."""


class MemoryLeak(JobChange):
    """Keeps so many bytes for each second that has passed, written once so that they are real."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._left = available()
        self._rate = max(LEAST_RATE, self._left / (HOURS_LEFT * 3600))
        self._most = min(self._rate * MOST_SECONDS, MOST_SHARE * self._left)
        self._clock, self._begun = clock, clock()
        self._kept: list[bytearray] = []
        self.held = 0

    def grow(self) -> None:
        """Keep what the time since the last call is worth."""
        due = min((self._clock() - self._begun) * self._rate, self._most)
        size = int(due) - self.held
        if size >= MIB // 4:
            self._kept.append(bytearray(b"\1") * size)
            self.held += size


class _InTrainer(MemoryLeak):
    def step(self, rank: int, index: int) -> None:  # noqa: ARG002
        self.grow()


class _InLoader(MemoryLeak):
    def load(self, dataset: "list[bytes]") -> None:  # noqa: ARG002
        self.grow()


def available() -> float:
    """Return the bytes that new work can still have on this machine; 1 GiB where unknown."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        line = next(line for line in text.splitlines() if line.startswith("MemAvailable:"))
        return float(int(line.split()[1]) << 10)
    except (OSError, StopIteration):
        return float(1 << 30)


TRAINER = FaultMechanism(
    name="trainer-leak",
    fault="memory.host_leak",
    at="process",
    change=_InTrainer,
    job=UNHURRIED,
    patience=330.0,
    symptoms=frozenset({"process.memory_grows"}),
    text="rank {rank} on {host}: its process keeps 2 MiB or more of new memory a second",
)

WORKER = FaultMechanism(
    name="worker-leak",
    fault="memory.dataloader_leak",
    at="worker",
    change=_InLoader,
    job={"RANKSCOPE_LAB_WORKER": "1", **UNHURRIED},
    patience=330.0,
    symptoms=frozenset({"process.worker_memory_grows"}),
    text="rank {rank} on {host}: its data loader's worker process keeps 2 MiB or more of new "
    "memory a second",
)
