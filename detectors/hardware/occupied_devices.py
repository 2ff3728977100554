"""Devices of a job that is over on which a table shows a process of somebody else."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...vocabulary.findings import Finding
from ..ended_jobs import EndedJobDetector
from ..window import JobWindow
from .foreign_processes import ForeignProcessesDetector

NEWS = 0.9
"""Its score: what the process costs the job no table shows, so it pages nobody."""


class OccupiedDevicesDetector(EndedJobDetector):
    """Report a process that holds much of a device beside the rank that works there.

    In no list of detectors: of a live job it counts where the rank is slower for it, and shows by
    that. Whoever looks at a table of a job that is over wants to know of it anyway.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before.

    Examples
    --------
    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> from rankscope.detectors.window import ProcessReadings
    >>> held = readings(np.array([START]), np.array([[40.0 * 2**30], [20.0 * 2**30]]))
    >>> there = ProcessReadings(np.array([0, 0]), np.array([1001, 4711]), np.array([1, -1]),
    ...     ("GPU-1", "GPU-1"), {"hw.gpu.process.memory": held})
    >>> window = sketch(np.full((4, 0), 0.8), processes=there, now=START + 1)
    >>> [(one.kind, one.text) for one in OccupiedDevicesDetector(over=START).evaluate(window)]
    [('gpu.occupied', 'gpu GPU-1 on host-0: process 4711, no rank of the job, holds 20 GiB')]

    Fails where the table does not tell which process is the rank: nothing is said then.

    Reference: nvidia-smi, its list of processes.
    """

    name = "occupied_devices"
    kinds = ("gpu.occupied",)

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device on which the rank's own process is listed too."""
        processes = window.processes
        own = {processes.hw_ids[place] for place in np.flatnonzero(processes.row >= 0).tolist()}
        return [
            replace(one, kind="gpu.occupied", detector=self.name, score=NEWS)
            for one in ForeignProcessesDetector().evaluate(window)
            if one.entity.id in own
        ]
