"""Rows of readings/ as series: each an amount over the names of what is read, at its times."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankscope.vocabulary import metrics

from . import amounts, tables
from .effects import Scalar
from .series import Family, MetricSeries
from .situation import filled


@dataclass(frozen=True, slots=True)
class ReadingTarget:
    """What is read: of which host, when, with which attributes, counters since `start`."""

    host: int
    family: Family
    ticks: np.ndarray
    labels: dict[str, Scalar]
    start: float
    attempt: int | None = None


def read(
    of: str, target: ReadingTarget, names: Mapping[str, Any], rng: np.random.Generator
) -> Iterator[MetricSeries]:
    """Yield a series for each row of a table; attributes may name {fields} of `names`.

    Where a value is NaN nothing is read, and where an attribute is empty it is left out.
    """
    ticks = target.ticks
    count = len(ticks)
    known = {
        "ones": np.ones(count),
        "normal": lambda deviation: rng.normal(0.0, deviation, count),
        "poisson": lambda mean: rng.poisson(mean, count),
        "chance": lambda share: rng.random(count) < share,
        **names,
    }
    for row in tables.readings(of):
        every = max(1, int(amounts.value(row.every, known)))
        values = np.asarray(amounts.value(row.value, known), dtype=float)
        labels = {key: filled(value, names) for key, value in row.of.items()}
        labels = {key: value for key, value in labels.items() if value != ""}
        counts = metrics.catalogue()[row.metric].kind == "counter"
        series = MetricSeries(
            row.metric, target.host, target.family, target.labels | labels, ticks[::every],
            np.broadcast_to(values, ticks.shape)[::every], target.attempt,
            target.start if counts else None,
        )  # fmt: skip
        yield series.kept(~np.isnan(series.values))
