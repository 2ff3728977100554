"""The memory of data loader workers, private against shared: a leak or copy-on-read.

Pages that a forked worker still shares with its trainer are anonymous too, so only the mappings
themselves (`smaps_rollup`) separate them. Walking them holds the worker's lock on its address
space and costs time with its size: seldom, and only for small workers.
"""

from pathlib import Path

from ...vocabulary.samples import Sample
from .. import procfs
from .trainer_cpu import described
from .trainer_memory import kibibytes
from .workers import LoaderWorkers

_SMALL = 4 << 30
"""Bytes resident: above, one walk would cost more than 100 ms."""


class WorkerMemoryReader:
    """Reads the sums that the kernel makes over a worker's mappings."""

    name = "worker_memory"

    def __init__(self, *, period: float, workers: LoaderWorkers, proc: Path = procfs.PROC) -> None:
        self.period = period
        self._workers = workers
        self._proc = proc

    def supported(self) -> tuple[bool, str]:
        """Return whether the kernel sums mappings, and for whose processes we may read it."""
        if not (self._proc / "self/smaps_rollup").exists():
            return False, "the kernel has no smaps_rollup (before Linux 4.14)"
        if not procfs.may_trace_anyone(self._proc):
            return True, "only for processes of this user: no CAP_SYS_PTRACE"
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return private and shared bytes of each small worker."""
        samples = []
        for worker in self._workers.find(now):
            resident = procfs.status_fields(worker.pid, self._proc).get("VmRSS", "0 kB")
            if not 0 < kibibytes(resident) <= _SMALL:
                continue
            sums = _sums(procfs.read(f"{self._proc}/{worker.pid}/smaps_rollup") or "")
            if not sums:
                continue
            pairs = described(worker.trainer, worker=worker.pid)
            private = sums["Private_Clean"] + sums["Private_Dirty"]
            shared = sums["Shared_Clean"] + sums["Shared_Dirty"]
            samples.append(Sample("process.memory.private", private, now, pairs))
            samples.append(Sample("process.memory.shared", shared, now, pairs))
        return samples


def _sums(text: str) -> dict[str, float]:
    wanted = ("Private_Clean", "Private_Dirty", "Shared_Clean", "Shared_Dirty")
    pairs = (line.partition(":") for line in text.splitlines())
    sums = {name: kibibytes(value) for name, _, value in pairs if name in wanted}
    return sums if len(sums) == len(wanted) else {}
