"""Processes that use a device of the job and are none of its ranks."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow
from . import devices

MEMORY = "hw.gpu.process.memory"
UTILIZATION = "hw.gpu.process.utilization"

_GIB = float(1 << 30)


class ForeignProcessesDetector(Detector):
    """Name devices on which a process that is no rank of the job computes or holds much memory.

    Of each process on a device of the job that is no rank and works for none: the share of the time
    in which its kernels ran, or the memory that it holds. Monitoring holds little and computes
    nothing. Evidence: whether the rank is slower for it, or runs out of memory, shows elsewhere.

    Parameters
    ----------
    used : share of the time in which its kernels must run.
    held : bytes that it must hold where it does not compute: more than a context does.
    seconds : the newest time range evaluated.

    Examples
    --------
    Somebody's notebook holds 20 GiB on the device of rank 1.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> from rankscope.detectors.window import ProcessReadings
    >>> at = START + np.arange(0, 61, 5)
    >>> processes = ProcessReadings(np.array([0]), np.array([4711]), np.array([-1]), ("GPU-1",),
    ...     {"hw.gpu.process.memory": readings(at, np.array([[20.0 * 2**30]]))})
    >>> window = sketch(np.full((4, 60), 0.8), processes=processes)
    >>> [finding.text for finding in ForeignProcessesDetector().evaluate(window)]
    ['gpu GPU-1 on host-0: process 4711, no rank of the job, holds 20 GiB']

    Fails where the agent does not see other users' processes (a pid namespace of its own), and
    cannot tell a helper that the job started itself from a stranger.

    References: nvmlDeviceGetComputeRunningProcesses.
    """

    name = "foreign_processes"
    kinds = ("gpu.foreign_process",)
    cadence_seconds = 5.0

    def __init__(
        self, *, used: float = 0.05, held: float = 1.0 * _GIB, seconds: float = 20.0
    ) -> None:
        self.used = used
        self.held = held
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device, of the process that uses it most."""
        processes = window.processes
        foreign = np.flatnonzero(processes.row < 0)
        if not len(foreign):
            return []
        used, held = self._level(window, UTILIZATION), self._level(window, MEMORY)
        with np.errstate(invalid="ignore"):
            odd = (used >= self.used) | (held >= self.held)
        rank_of = {
            (int(host), hw_id): row
            for row, (host, hw_id) in enumerate(zip(window.host_of, window.hw_ids, strict=True))
            if hw_id
        }
        best: dict[int, tuple[float, int]] = {}
        for number in foreign[odd[foreign]].tolist():
            row = rank_of.get((int(processes.host[number]), processes.hw_ids[number] or ""))
            if row is not None:
                size = float(np.nan_to_num(used[number]) + np.nan_to_num(held[number]) / 1e12)
                best[row] = max(best.get(row, (-1.0, -1)), (size, number))
        findings = [
            self._finding(window, row, number, used, held)
            for row, (_, number) in sorted(best.items())
        ]
        return [finding for finding in findings if finding is not None]

    def _level(self, window: JobWindow, metric: str) -> Floats:
        """Return [processes], the mean of the newest seconds; NaN for those that ended."""
        readings = window.processes.of(metric)
        newest = readings.newest_at()
        if newest == -np.inf:
            return np.full(len(window.processes.pid), np.nan)
        level = devices.recent(readings, self.seconds)[0]
        _, at = readings.latest()
        gone = at < newest - max(self.seconds, 3.2 * readings.period())
        return np.where(gone, np.nan, level)

    def _finding(
        self, window: JobWindow, row: int, number: int, used: Floats, held: Floats
    ) -> Finding | None:
        entity = window.gpu_entity(row)
        if entity is None:
            return None
        computes = bool(used[number] >= self.used)
        metric = UTILIZATION if computes else MEMORY
        seen = float(used[number] if computes else held[number])
        what = f"computes {seen:.0%} of the time" if computes else f"holds {seen / _GIB:.3g} GiB"
        readings = window.processes.of(metric)
        first = devices.since(readings, number, self.used if computes else self.held)
        return report(
            window,
            self.name,
            "gpu.foreign_process",
            entity,
            onset=(first - readings.period(), first),
            magnitude=seen,
            score=3.0 if computes else 2.0,
            signal=metric,
            observed=seen,
            expected=0.0,
            text=f"{entity}: process {int(window.processes.pid[number])}, no rank of the job, "
            f"{what}",
        )
