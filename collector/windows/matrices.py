"""A metric as it is held: whole matrices of ranks or hosts, for whoever sums them up."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...detectors.window import Floats, JobWindow
from .windows import TelemetryWindows

STEP = "training.step"


@dataclass(frozen=True, slots=True)
class MetricMatrix:
    """One variant of a metric (`training.loss|local`): at, value [rows, readings].

    names: [rows] rank numbers, or host names where `of_hosts`. NaN: nobody reported. Readings of a
    row are in no order, unless `per_step`; there a NaN that was reported is REPORTED_NAN.
    """

    name: str
    names: Sequence[int | str]
    at: Floats
    value: Floats
    per_step: bool = False
    of_hosts: bool = False


def matrices(window: JobWindow, metric: str) -> Iterator[MetricMatrix]:
    """Yield every variant of a metric: per step, then of ranks, then of hosts."""
    steps = window.steps
    planes: Mapping[str, Floats] = steps.planes
    if metric == STEP:  # the index of the columns is no plane
        planes = {STEP: np.broadcast_to(steps.index.astype(np.float64), steps.at.shape)}
    ranks = window.ranks.tolist()
    for name in variants(planes, metric):
        yield MetricMatrix(name, ranks, steps.at, planes[name], per_step=True)
    for name in variants(window.rank_readings, metric):
        held = window.rank_readings[name]
        yield MetricMatrix(name, ranks, held.at, held.value)
    for name in variants(window.host_readings, metric):
        held = window.host_readings[name]
        yield MetricMatrix(name, window.hosts, held.at, held.value, of_hosts=True)


def variants(held: Collection[str], metric: str) -> list[str]:
    """Return the names of a metric and its variants, sorted."""
    return sorted(name for name in held if name == metric or name.startswith(f"{metric}|"))


def newest_window(windows: TelemetryWindows, job: str) -> JobWindow | None:
    """Return the window of a job's newest attempt, None for an unknown job."""
    attempt = windows.attempt(job)
    return None if attempt is None else windows.window(attempt, attempt.last_received)
