"""Devices that hold memory of other ranks' processes."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.entities import gpu as gpu_entity
from ...vocabulary.findings import Finding
from ...vocabulary.ranks import RankSet
from ..contract import Detector
from ..findings import report
from ..window import JobWindow

MEMORY = "hw.gpu.process.memory"
LIMIT = "hw.gpu.memory.limit"

MOST = 8
"""So many devices are named, those with most foreign memory first."""


class ContextsDetector(Detector):
    """Name the devices on which processes of other ranks of the job hold memory.

    A process that does not choose its device before its first call, or loads a checkpoint without
    saying where to, opens a context on the first device of its host: half a GiB for each rank
    there. A process counts when it is a rank with a device of its own, this is another rank's, and
    it holds at least `least` bytes. It slows nothing and is a symptom all the same: this device is
    the first to run out of memory. Below `share` of the device it is info.

    Parameters
    ----------
    least : bytes of a context; less are shared handles (CUDA IPC).
    share : share of the device's memory from which on it is a warning.

    Examples
    --------
    Ranks 1 to 3 hold half a GiB each on the device of rank 0.

    >>> from rankscope.detectors.sketch import readings, sketch
    >>> from rankscope.detectors.window import ProcessReadings
    >>> rows = np.array([0, 1, 2, 3])
    >>> held = readings(np.array([1.7e9]), np.array([[4e10], [5e8], [5e8], [5e8]]))
    >>> there = ProcessReadings(0 * rows, 1000 + rows, rows, ("GPU-0",) * 4, {MEMORY: held})
    >>> window = sketch(np.full((4, 60), 0.8), hosts=1, processes=there)
    >>> (found,) = ContextsDetector().evaluate(window)
    >>> found.text
    'processes of 3 other ranks (1-3) hold 1.4 GiB on gpu GPU-0 on host-0'

    Fails where nobody reports the memory of processes, or ranks without their devices.

    References: PyTorch serialization notes (map_location).
    """

    name = "contexts"
    kinds = ("gpu.foreign_contexts",)
    cadence_seconds = 15.0

    def __init__(self, *, least: float = 64 * 2.0**20, share: float = 0.01) -> None:
        self.least = least
        self.share = share

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device."""
        processes = window.processes
        if not len(processes.row):
            return []
        held, at = processes.of(MEMORY).latest()
        newest = np.max(at, initial=-np.inf, where=np.isfinite(at))
        rows = np.flatnonzero((processes.row >= 0) & (held >= self.least) & (at >= newest - 120.0))
        if not len(rows):
            return []
        owner = {
            (int(host), hw_id): row
            for row, (host, hw_id) in enumerate(zip(window.host_of, window.hw_ids, strict=True))
            if hw_id
        }
        foreign: dict[int, dict[int, float]] = {}
        first: dict[int, float] = {}
        for place in rows.tolist():
            mine, device = int(processes.row[place]), processes.hw_ids[place]
            other = owner.get((int(processes.host[place]), device or ""))
            if other is None or window.hw_ids[mine] in (None, device):
                continue
            foreign.setdefault(other, {})[int(window.ranks[mine])] = float(held[place])
            first[other] = min(first.get(other, np.inf), float(at[place]))
        limit = window.of_ranks(LIMIT).latest()[0]
        order = sorted(foreign, key=lambda row: (-sum(foreign[row].values()), window.ranks[row]))
        return [self._finding(window, row, foreign[row], first[row], limit) for row in order[:MOST]]

    def _finding(
        self,
        window: JobWindow,
        row: int,
        foreign: dict[int, float],
        at: float,
        limit: np.ndarray,
    ) -> Finding:
        entity = gpu_entity(
            window.hw_ids[row] or "", window.host_name(row), (int(window.ranks[row]),)
        )
        total = sum(foreign.values())
        share = total / limit[row] if limit[row] > 0 else self.share
        return report(
            window,
            self.name,
            "gpu.foreign_contexts",
            entity,
            onset=at,
            magnitude=float(len(foreign)),
            score=2.0 if share >= self.share else 0.5,
            signal=MEMORY,
            observed=total,
            expected=0.0,
            text=f"processes of {len(foreign)} other rank{'s' * (len(foreign) > 1)} "
            f"({RankSet(foreign)}) hold {total / 2**30:.2g} GiB on {entity}",
        )
