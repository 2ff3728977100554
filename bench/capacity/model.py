"""The model: what a second costs is linear in samples, in ranks that are evaluated, and a constant.

Fitted by least squares of relative errors without negative weights, on all runs but those of the
largest size: how far it is off there is what it may be trusted with.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from .runs import SizeRun

CORE_SHARE = 0.6
"""Of a core, what one collector is to use on average: the rest is for bursts and restarts."""
GPUS_AN_AGENT, MESSAGE_SECONDS, HOSTS_JOINED = 8, 1.0, 100
OVERHEAD_BYTES = 150 << 20
"""Of the process itself."""


@dataclass(frozen=True, slots=True)
class CapacityModel:
    """CPU: cores = constant + a_sample * samples/s + a_rank * ranks; bytes a series, a sample."""

    constant: float
    a_sample: float
    a_rank: float
    bytes_a_series: float
    journal_bytes_a_sample: float
    a_message: float = 0.0
    """CPU seconds of a message beside its samples: HTTP. In no measured run but its own."""

    def cores(
        self, *, ranks: float, samples_a_second: float, messages_a_second: float = 0.0
    ) -> float:
        work = self.constant + self.a_sample * samples_a_second + self.a_rank * ranks
        return work + self.a_message * messages_a_second

    def memory(self, series: float) -> float:
        """Return the bytes of a process with so many series."""
        return OVERHEAD_BYTES + self.bytes_a_series * series


@dataclass(frozen=True, slots=True)
class ClusterNeeds:
    """What a cluster needs."""

    gpus: int
    samples_a_second: float
    messages_a_second: float
    cores: float
    cores_joined: float
    """Where the messages of HOSTS_JOINED hosts come as one."""
    memory_bytes: float
    journal_bytes_a_second: float
    collectors: int
    """Where every agent pushes to them itself."""
    collectors_joined: int


def fitted(runs: Sequence[SizeRun]) -> CapacityModel:
    """Return the model that fits runs best."""
    cores = np.array([run.cpu_cores for run in runs])
    rows = np.array([[1.0, run.samples_a_second, run.size.ranks] for run in runs])
    weights, _ = nnls(rows / cores[:, None], np.ones(len(runs)))
    series = np.array([[float(run.series)] for run in runs])
    size = np.array([float(run.window_bytes) for run in runs])
    (bytes_a_series,), _ = nnls(series / size[:, None], np.ones(len(runs)))
    journal = float(np.median([run.journal_bytes_a_sample for run in runs]))
    constant, a_sample, a_rank = weights.tolist()
    return CapacityModel(constant, a_sample, a_rank, float(bytes_a_series), journal)


def largest(runs: Sequence[SizeRun]) -> tuple[list[SizeRun], list[SizeRun]]:
    most = max(run.size.ranks for run in runs)
    return (
        [run for run in runs if run.size.ranks == most],
        [run for run in runs if run.size.ranks != most],
    )


def errors(model: CapacityModel, runs: Sequence[SizeRun]) -> list[tuple[SizeRun, float, float]]:
    """Return each run with the relative errors of CPU and memory: predicted / measured - 1."""
    return [
        (
            run,
            model.cores(ranks=run.size.ranks, samples_a_second=run.samples_a_second) / run.cpu_cores
            - 1,
            model.bytes_a_series * run.series / run.window_bytes - 1,
        )
        for run in runs
    ]


def needs(model: CapacityModel, gpus: int, *, series_a_rank: float, period: float) -> ClusterNeeds:
    """Return what a cluster of so many GPUs needs, a rank on each."""
    samples = gpus * series_a_rank / period
    messages = gpus / GPUS_AN_AGENT / MESSAGE_SECONDS
    cores = model.cores(ranks=gpus, samples_a_second=samples, messages_a_second=messages)
    joined = model.cores(
        ranks=gpus, samples_a_second=samples, messages_a_second=messages / HOSTS_JOINED
    )
    return ClusterNeeds(
        gpus,
        samples,
        messages,
        cores,
        joined,
        model.memory(gpus * series_a_rank),
        samples * model.journal_bytes_a_sample,
        _collectors(cores),
        _collectors(joined),
    )


def _collectors(cores: float) -> int:
    return max(1, math.ceil(cores / CORE_SHARE))
