"""Python objects shared through fork: reading them writes reference counts, which copies pages."""

import time

from .contract import UNHURRIED, FaultMechanism, JobChange

DATASET_MIB = 288
"""More than half of what a worker shares: torch alone has some 230 MiB in common with its fork."""
SECONDS = 45.0
"""How long the worker takes to read all that it inherited."""


class _WorkerReads(JobChange):
    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._place = 0
        self._length = 0

    def load(self, dataset: "list[bytes]") -> None:
        share = (time.monotonic() - self._begun) / SECONDS
        until = min(int(share * len(dataset)), len(dataset))
        for sample in dataset[self._place : until]:
            self._length = len(sample)
        self._place = max(self._place, until)


WORKER = FaultMechanism(
    name="worker-reads",
    fault="memory.copy_on_read",
    at="worker",
    change=_WorkerReads,
    job={
        "RANKSCOPE_LAB_WORKER": "1",
        "RANKSCOPE_LAB_DATASET_MIB": str(DATASET_MIB),
        **UNHURRIED,
    },
    patience=180.0,
    harmless=True,
    symptoms=frozenset({"process.shared_memory_copied"}),
    text=f"rank {{rank}} on {{host}}: its data loader's worker process reads the {DATASET_MIB} "
    "MiB of Python objects that it shares with the trainer",
)
"""An observation is right: what is left to copy fits into the host many times."""
