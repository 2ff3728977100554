"""Dataloader workers that eat memory: a leak, or pages that were shared and become private."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow
from . import growth, host_processes
from .gpu_leak import warm_up_end

_ROLE = "|dataloader"


class WorkerMemory(Detector):
    """Name the dataloader workers whose private memory grows, a leak told from copy-on-read.

    A forked worker shares its pages with the trainer until it writes to them; a reference count
    is a write, so that reading Python objects copies them. Then private memory grows by what shared
    memory loses, and the resident size stays. In a leak shared memory stays. Where shared memory is
    not reported, the resident size decides. Growth is what growth.py calls so; copy-on-read levels
    off when all is copied, and counts before that. A symptom because the host runs out of memory:
    within `horizon`, or when copying the rest needs more than the host has, it is a warning.

    Parameters
    ----------
    horizon : seconds to exhaustion up to which somebody must act now.
    copied : share of a worker's private growth that must be missing from its shared memory.

    Examples
    --------
    Worker 501 copies what it shares; worker 502 leaks.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> from rankscope.detectors.window import Processes
    >>> at = START + np.arange(0.0, 401, 5)
    >>> grown = np.maximum(at - START - 100, 0) * 2.0**22
    >>> workers = Processes(np.array([0, 0]), np.array([501, 502]), np.array([1, 1]), (None,) * 2, {
    ...     "process.memory.private|dataloader": readings(at, 2.0**30 + np.stack([grown, grown])),
    ...     "process.memory.shared|dataloader": readings(at, 2.0**33 - np.stack([grown, 0 * at]))})
    >>> window = sketch(np.full((2, 400), 0.8), hosts=1, now=START + 400, processes=workers)
    >>> for finding in WorkerMemory().evaluate(window):
    ...     print(finding.kind, finding.entity)
    process.shared_memory_copied process host-0:501
    process.worker_memory_grows process host-0:502

    Fails where workers are not reported by themselves, or live for less than three minutes.

    References: PyTorch issue 13246; facts on root causes 18 (private 0 to 93 MiB, shared 146 to 54,
    resident 148 throughout).
    """

    name = "worker_memory"
    kinds = ("process.worker_memory_grows", "process.shared_memory_copied")
    cadence_seconds = 15.0

    def __init__(self, *, horizon: float = growth.HORIZON_SECONDS, copied: float = 0.6) -> None:
        self.horizon = horizon
        self.copied = copied

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a worker that grows."""
        workers = window.processes
        private = workers.of(host_processes.PRIVATE + _ROLE)
        if not private.at.shape[1]:
            return []
        newest = private.latest()[0]
        # Copying is expected to level off, and counts all the same; a leak must not.
        found = growth.growing(
            private,
            now=window.now,
            least=host_processes.least(newest),
            limit=newest + np.nan_to_num(host_processes.room(window)[workers.host], nan=np.inf),
            since=warm_up_end(window),
            levelling=True,
        )
        if found is None:
            return []
        host, pid = workers.host[found.rows], workers.pid[found.rows]
        times = host_processes.left(window, found, host)
        lost = self._lost(window, found)
        room = host_processes.room(window)[host]
        shared = np.nan_to_num(workers.of(host_processes.SHARED + _ROLE).latest()[0])[found.rows]
        needed = np.bincount(host, weights=shared, minlength=len(window.hosts))[host]
        findings = []
        for place in host_processes.fastest(window, found, host, pid):
            copies = bool(lost[place] >= self.copied)
            if not copies and found.levels[place]:
                continue
            seconds = float(times[0][place])
            score = growth.score(seconds, self.horizon)
            if copies:
                score = 2.0 if needed[place] >= room[place] else growth.INFO
            worker = f"dataloader worker {int(pid[place])}"
            findings.append(
                report(
                    window,
                    self.name,
                    "process.shared_memory_copied" if copies else "process.worker_memory_grows",
                    host_processes.entity(
                        window, int(host[place]), int(pid[place]),
                        int(workers.row[found.rows[place]]),
                    ),
                    onset=float(found.begun[place]),
                    magnitude=min(float(np.nan_to_num(seconds, nan=np.inf)),
                                  growth.INTEREST_SECONDS),
                    score=score,
                    signal=host_processes.PRIVATE,
                    observed=float(found.slope[place]),
                    expected=0.0,
                    text=(f"{worker} copies shared pages into private ones, " if copies
                          else f"private memory of {worker} grows by ")
                    + host_processes.words(found, place, times),
                )
            )  # fmt: skip
        return findings

    def _lost(self, window: JobWindow, found: growth.Growth) -> Floats:
        """Return [found], the share of private growth that shared memory lost meanwhile.

        Where it is not reported: the share by which the resident size did not grow. 0: unknown.
        """
        shared = _change(window, host_processes.SHARED, found)
        resident = _change(window, "process.memory.usage", found)
        private = np.maximum(_change(window, host_processes.PRIVATE, found), 1.0)
        lost = np.where(np.isfinite(shared), -shared / private, 1.0 - resident / private)
        return np.nan_to_num(lost)


def _change(window: JobWindow, metric: str, found: growth.Growth) -> Floats:
    """Return [found], by how much a metric of the workers changed over their growth."""
    readings = window.processes.of(metric + _ROLE).of(found.rows)
    changes = np.full(len(found.rows), np.nan)
    for begun in np.unique(found.begun):
        eighth = (found.end - begun) / 8
        change = readings.mean(found.end - eighth, found.end) - readings.mean(begun, begun + eighth)
        changes = np.where(found.begun == begun, change, changes)
    return changes
