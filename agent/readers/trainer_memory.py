"""The memory of trainers, and how much of their workers is resident.

From `status`, whose numbers cost nothing: `smaps_rollup` would hold the lock on the address space
of a trainer for as long as it walks hundreds of gigabytes.
"""

from pathlib import Path

from ...vocabulary.samples import Sample
from .. import procfs
from .trainer_cpu import described
from .workers import LoaderWorkers


class TrainerMemory:
    """Reads RssAnon as private, RssShmem as shared (files of libraries are neither)."""

    name = "trainer_memory"

    def __init__(self, *, period: float, workers: LoaderWorkers, proc: Path = procfs.PROC) -> None:
        self.period = period
        self._workers = workers
        self._proc = proc

    def supported(self) -> tuple[bool, str]:
        """Return whether the kernel splits resident memory."""
        if "RssAnon" in procfs.status_fields("self", self._proc):
            return True, ""
        return False, "the kernel does not split resident memory (before Linux 4.5)"

    def read(self, now: float) -> list[Sample]:
        """Return bytes by process; private and shared of workers are another reader's."""
        samples = []
        for trainer in self._workers.trainers():
            if trainer.pid is None:
                continue
            fields = procfs.status_fields(trainer.pid, self._proc)
            pairs = described(trainer)
            for metric, name in (
                ("process.memory.usage", "VmRSS"),
                ("process.memory.private", "RssAnon"),
                ("process.memory.shared", "RssShmem"),
            ):
                if name in fields:
                    samples.append(Sample(metric, kibibytes(fields[name]), now, pairs))
        for worker in self._workers.find(now):
            resident = procfs.status_fields(worker.pid, self._proc).get("VmRSS")
            if resident is not None:
                pairs = described(worker.trainer, worker=worker.pid)
                samples.append(Sample("process.memory.usage", kibibytes(resident), now, pairs))
        return samples


def kibibytes(text: str) -> float:
    """Return the bytes of a number that the kernel writes as `123 kB`."""
    return float(int(text.split(maxsplit=1)[0]) << 10)
