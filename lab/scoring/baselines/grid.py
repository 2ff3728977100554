"""Telemetry on a grid of 5 s: by metric, a matrix over entities and moments.

A cell is the last value that was received in its 5 s, NaN where none was. Counters become rates per
second. Identities and sequence numbers, which say nothing by their size, are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....formats.otlp.columns import PointColumns, SeriesTable
from ....vocabulary import entities, metrics
from ....vocabulary.entities import Entity
from ....vocabulary.samples import Attributes, Scalar, TelemetryResource

Array = NDArray[np.float64]

EVERY_SECONDS = 5.0
LEFT_OUT = (
    "training.rank.info", "training.step", "training.learning_rate", "collective.group.info",
    "collective.enqueued", "collective.started", "collective.completed", "hw.network.info",
)  # fmt: skip
_IDENTIFYING = ("rank", "hw.id", "gpu", "pid", "container.pid", "group", "quality", "source")


@dataclass(frozen=True, slots=True)
class GridMatrix:
    """One metric: `values` [entities x moments]; `metric` and `attributes` say what it is."""

    metric: str
    attributes: Mapping[str, Scalar]
    entities: tuple[Entity, ...]
    values: Array


@dataclass(frozen=True, slots=True)
class MetricGrid:
    """Every metric. `at` [moments] are the ends of the 5 s, in epoch seconds."""

    at: Array
    matrices: tuple[GridMatrix, ...]

    def of(self, metric: str) -> Iterator[GridMatrix]:
        """Return the matrices of a metric, one for each set of attributes."""
        return (row for row in self.matrices if row.metric == metric)


def gridded(table: SeriesTable, delivered: Sequence[tuple[float, PointColumns]]) -> MetricGrid:
    """Return the grid of what was delivered: (received at, points) in order of time."""
    if not delivered:
        return MetricGrid(np.empty(0), ())
    first = delivered[0][0]
    series = np.concatenate([columns.series for _, columns in delivered])
    value = np.concatenate([columns.value for _, columns in delivered])
    lengths = [len(columns) for _, columns in delivered]
    cells = [int((at - first) // EVERY_SECONDS) for at, _ in delivered]
    cell = np.repeat(np.array(cells), lengths)
    count = cells[-1] + 1
    # The last point of each series in each cell: a stable sort keeps the order of arrival.
    keep = series >= 0
    series, value, cell = series[keep], value[keep], cell[keep]
    order = np.lexsort((np.arange(len(series)), cell, series))
    series, value, cell = series[order], value[order], cell[order]
    last = np.append((np.diff(series) != 0) | (np.diff(cell) != 0), True)
    series, value, cell = series[last], value[last], cell[last]
    rows: dict[tuple[str, Attributes], dict[Entity, Array]] = {}
    numbers, bounds = np.unique(series, return_index=True)
    owners = _owners(table, numbers.tolist())
    ends = [*bounds[1:].tolist(), len(series)]
    for number, begin, end in zip(numbers.tolist(), bounds.tolist(), ends, strict=True):
        known = table[number]
        if known.metric in LEFT_OUT or known.metric.endswith((".info", ".count")):
            continue
        pairs = tuple(pair for pair in known.attributes if pair[0] not in _IDENTIFYING)
        row = rows.setdefault((known.metric, pairs), {})
        entity = _entity(known.resource, dict(known.attributes), owners)
        line = row.setdefault(entity, np.full(count, np.nan))
        line[cell[begin:end]] = value[begin:end]
    at = first + EVERY_SECONDS * np.arange(1, count + 1, dtype=np.float64)
    return MetricGrid(at, tuple(_matrix(key, row) for key, row in rows.items()))


def filled(values: Array, *, most: int) -> Array:
    """Return the values with gaps of up to `most` cells filled by the last one before."""
    index = np.where(np.isfinite(values), np.arange(values.shape[-1]), -most - 1)
    last = np.maximum.accumulate(index, axis=-1)
    age = np.arange(values.shape[-1]) - last
    taken = np.take_along_axis(values, np.maximum(last, 0), axis=-1)
    return np.where(age <= most, taken, np.nan)


def _matrix(key: tuple[str, Attributes], row: Mapping[Entity, Array]) -> GridMatrix:
    known = metrics.catalogue().get(key[0])
    values = np.stack(list(row.values()))
    if known is not None and known.kind == "counter":
        values = _rates(values)
    return GridMatrix(key[0], dict(key[1]), tuple(row), values)


def _rates(values: Array) -> Array:
    """Return the increase per second since the value before, 0 where a counter began anew."""
    index = np.where(np.isfinite(values), np.arange(values.shape[1]), -1)
    before = np.full(index.shape, -1)
    before[:, 1:] = np.maximum.accumulate(index, axis=1)[:, :-1]
    earlier = np.take_along_axis(values, np.maximum(before, 0), axis=1)
    seconds = (np.arange(values.shape[1]) - before) * EVERY_SECONDS
    return np.where(before >= 0, np.maximum(values - earlier, 0.0) / seconds, np.nan)


def _owners(table: SeriesTable, numbers: Sequence[int]) -> dict[Scalar, int]:
    """Return the rank on each device, as `training.rank.info` says it."""
    found: dict[Scalar, int] = {}
    for number in numbers:
        known = table[number]
        if known.metric == "training.rank.info":
            pairs = dict(known.attributes)
            if "hw.id" in pairs and "rank" in pairs:
                found[pairs["hw.id"]] = int(pairs["rank"])
    return found


def _entity(
    resource: TelemetryResource, pairs: Mapping[str, Scalar], owners: Mapping[Scalar, int]
) -> Entity:
    """Return the rank that a series is about, else the device, else the host."""
    rank = pairs.get("rank", owners.get(pairs.get("hw.id", ""), None))
    if rank is not None:
        return entities.rank(int(rank), resource.host)
    if "hw.id" in pairs:
        return entities.gpu(str(pairs["hw.id"]), resource.host)
    return entities.host(resource.host)
