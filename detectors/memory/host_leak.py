"""Trainers whose private host memory keeps growing."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..window import JobWindow
from . import growth, host_processes
from .gpu_leak import warm_up_end


class HostLeakDetector(Detector):
    """Name the trainers whose private memory grows, and say when their host runs out of it.

    Private (anonymous) memory of the ranks' own processes, by the test of growth.py: significant,
    in many places, up to now, and not levelling off below the host's limit. All processes that
    grow on a host use up its room together. It slows nothing and is a symptom all the same: the
    kernel kills a process when the room is used up. Within `horizon` it is a warning, within a day
    info, and an observation where it lasts longer, or grows for too short a time to be drawn on.

    Parameters
    ----------
    horizon : seconds to exhaustion up to which somebody must act now.

    Examples
    --------
    The trainer of rank 1 keeps 1 GiB a minute of a host that has 60 GiB left.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0.0, 401, 5)
    >>> held = np.full((2, len(at)), 8 * 2.0**30)
    >>> held[1] += np.maximum(at - START - 100, 0) * 2.0**30 / 60
    >>> host = {"system.memory.usage": 452.0, "system.memory.limit": 512.0}
    >>> window = sketch(np.full((2, 400), 0.8), hosts=1, now=START + 400,
    ...     rank_readings={"process.memory.private": readings(at, held)},
    ...     host_readings={name: readings(at, np.full((1, 1), size * 2**30))
    ...         for name, size in host.items()})
    >>> (leak,) = HostLeakDetector().evaluate(window)
    >>> str(leak.entity), f"{leak.magnitude / 60:.0f} min"
    ('process host-0:1001', '60 min')

    Fails below 64 MiB and 3 % of the process a range, and where a container's limit ends it before
    the host's memory does: only the host's limit is reported. What would fill the host only in 200
    times as long as it has grown is left for later: processes gather for minutes after a start.

    References: Theil-Sen estimator (JASA 1968).
    """

    name = "host_leak"
    kinds = ("process.memory_grows",)
    cadence_seconds = 15.0

    def __init__(self, *, horizon: float = growth.HORIZON_SECONDS) -> None:
        self.horizon = horizon

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a process that grows."""
        private = window.of_ranks(host_processes.PRIVATE)
        if not private.at.shape[1]:
            return []
        newest = private.latest()[0]
        host = window.host_of
        remaining = np.append(host_processes.room(window), np.nan)[host]
        found = growth.growing(
            private,
            now=window.now,
            least=host_processes.least(newest),
            limit=newest + np.nan_to_num(remaining, nan=np.inf),
            since=warm_up_end(window),
        )
        if found is None:
            return []
        found = found.of((host[found.rows] >= 0) & (window.pids[found.rows] >= 0))
        found = found.of(host_processes.foreseen(window, found, host[found.rows]))
        rows = found.rows
        return host_processes.reports(
            window,
            self,
            "process.memory_grows",
            found,
            host=host[rows],
            pid=window.pids[rows],
            row=rows,
            horizon=self.horizon,
            name=lambda place: f"the trainer of rank {int(window.ranks[rows[place]])}",
        )
