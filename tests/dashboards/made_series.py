"""Two minutes of made-up series, in which some ranks stand out after the onset."""

import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankscope.collector.figures.distribution import MetricDistribution, SpreadQuery, results
from rankscope.collector.figures.spread import SpreadSummer
from rankscope.collector.windows.matrices import MetricMatrix
from rankscope.vocabulary import metrics

from .documents import ONSET, STEPS

KNOWN = metrics.catalogue()


def matrices(metric: str, ranks: int, culprits: set[int]) -> list[MetricMatrix]:
    """Return two minutes of a per-step metric in which the culprits stand out after the onset."""
    noise = random.Random(metric)
    at: list[list[float]] = []
    values: list[list[float]] = []
    for rank in range(ranks):
        moment, waited = ONSET - 60, 0.0
        at.append([])
        values.append([])
        for _ in range(STEPS):
            late = moment >= ONSET and rank in culprits
            step = 0.6 if moment >= ONSET else 0.21
            own = (0.57 if late else 0.18) + noise.gauss(0, 0.012)
            waited += step * (0.66 if late else 0.01)
            value = {
                "training.comm.duration": max(0.004, step - own),
                "training.step.duration": step + noise.gauss(0, 0.01),
                "process.cpu.wait": waited,
                "training.loss": math.inf if late else 2.4 + noise.gauss(0, 0.05),
            }.get(metric, own)
            at[-1].append(moment)
            values[-1].append(value)
            moment += step
    names = list(range(ranks))
    times, found = np.array(at), np.array(values)
    if metric == "training.grad_norm":  # what every rank sees after the reduction, and its own
        own_norm = found * np.array([3 if rank in culprits else 1 for rank in names])[:, None]
        return [
            MetricMatrix("training.grad_norm|global", names, times, found),
            MetricMatrix("training.grad_norm|local", names, times, own_norm),
        ]
    return [MetricMatrix(metric, names, times, found)]


def distribution(
    query: Mapping[str, list[str]], ranks: int, culprits: set[int], *, source: str
) -> dict[str, Any]:
    """Return what /distribution answers, made by the collector's own sums."""
    metric = query["metric"][0]
    counter = metrics.catalogue()[metric].kind == "counter" if metric in KNOWN else False
    chosen = tuple(int(rank) for rank in query.get("rank", ()))
    wanted = SpreadQuery(metric, counter, 120, chosen, int(query.get("peers", ["0"])[0]))
    held = matrices(metric, ranks, culprits)
    spreadings = {one.name: SpreadSummer(ONSET - 60, ONSET + 85, 120, counter) for one in held}
    for one in held:
        spreadings[one.name].add(one)
    found = MetricDistribution(ONSET - 60, 145 / 120, ONSET - 60, results(spreadings, wanted))
    unit = metrics.catalogue()[metric].unit if metric in KNOWN else None
    return {
        "metric": metric,
        "unit": unit,
        "rate": counter,
        "source": source,
        **found.document(),
    }
