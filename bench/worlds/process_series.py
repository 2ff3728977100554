"""What the agent reads of trainers and their loaders: memory that fills at first, and CPU."""

from collections.abc import Iterator, Sequence

import numpy as np

from . import readings
from .effects import Scalar
from .exporters import HostExporter
from .readings import ReadingTarget
from .series import MetricSeries
from .situation import CaseSituation
from .training import JobAttempt


def reported(
    case: CaseSituation, attempt: JobAttempt, exporters: Sequence[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield the series of the trainers and of one or two loaders each."""
    rng = case.plan.rng(f"processes {attempt.number}")
    workers = int(rng.integers(1, 3)) if case.plan.world <= 32 else 1
    base, shared = rng.uniform(5.0, 14.0) * 2.0**30, rng.uniform(0.3, 3.0) * 2.0**30
    loader = rng.uniform(0.3, 1.4) * 2.0**30
    growth = (case.habit("startup_growth") or 0.0) * 2.0**20 / 60.0
    flat = float(rng.uniform(60.0, 220.0))
    midway = bool(case.habit("joined_midway")) and attempt.number == 0
    for place in attempt.layout.ranks:
        ticks = exporters[place.host].ticks(attempt.begin, attempt.end)
        since = ticks - attempt.begin + (3600.0 if midway else 0.0)
        loading = np.minimum(1.0, 0.3 + since / 40.0)
        own = growth * float(np.exp(rng.normal(0.0, 0.25))) * flat * (1.0 - np.exp(-since / flat))
        for number in range(workers + 1):
            labels: dict[str, Scalar] = {
                "pid": place.pid_of(attempt.number) + 100_000 * number,
                "rank": place.rank,
                "role": "dataloader" if number else "trainer",
            }
            private = rng.normal(0.0, 3.0 * 2.0**20, len(ticks))
            if number:
                private = private + loader * loading + 0.15 * own
            else:
                arenas = np.cumsum(rng.random(len(ticks)) < 0.05) * 4.0 * 2.0**20
                private = private + base * loading + own + arenas * (since < 400.0)
            names = {
                "private": private,
                "shared": shared * (0.6 if number else 1.0),
                "load": 0.55 if number else 1.02,
                "since": since,
            }
            target = ReadingTarget(
                place.host, "process", ticks, labels, attempt.begin, attempt.number
            )
            yield from readings.read("process", target, names, rng)
