"""Writes deliveries as OTLP JSON lines, fast: a recording is millions of points of few series.

All but time and value of a point is the same text every time. That text is asked from the one
encoder (formats.otlp.encode) once a series, and cut where time and value stand; a test holds the
lines to what the encoder itself would write.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...formats.otlp import encode
from ...vocabulary.samples import Sample
from .series import SimulatedSeries

Part = tuple[SimulatedSeries, int, int]
"""A series, and which of its points: from the first to before the last."""

_AT, _VALUE = 1.0, 0.5
_AT_TEXT, _VALUE_TEXT = '"1000000000"', ":0.5"
_POINTS = '"dataPoints":['
_METRICS = '"metrics":['


@dataclass(frozen=True, slots=True)
class _SeriesTemplate:
    """One series: the text around its times and values, and these (ns, numbers) as lists.

    Most deliveries carry a single point of a series; arrays would cost more than they save.
    """

    at: list[int]
    value: list[float]
    resource: str
    metric: str
    before: str
    after: str
    metric_end: str
    resource_end: str


class DeliveryLines:
    """Writes the deliveries of one host; remembers every series it has seen."""

    def __init__(self, clock: float | Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> None:
        """Date everything by the host's clock: what it says at time 0, or at these true times."""
        self._clock = clock
        self._templates: dict[int, _SeriesTemplate] = {}

    def metrics(self, parts: Sequence[Part]) -> str:
        resources: dict[str, dict[str, list[str]]] = {}
        ends: dict[str, str] = {}
        for row, first, last in parts:
            template = self._template(row)
            metrics = resources.setdefault(template.resource, {})
            points = metrics.setdefault(template.metric, [])
            before, after = template.before, template.after
            for point in range(first, last):
                value = template.value[point]
                said = repr(value) if math.isfinite(value) else _word(value)
                points.append(f'{before}"{template.at[point]}","asDouble":{said}{after}')
            ends[template.metric] = template.metric_end
            ends[template.resource] = template.resource_end
        return _HEAD + ",".join(_closed(resources, ends)) + "]}"

    def _template(self, row: SimulatedSeries) -> _SeriesTemplate:
        template = self._templates.get(id(row))
        if template is None:
            at = self._clock(row.at) if callable(self._clock) else row.at + self._clock
            template = self._templates[id(row)] = _cut(row, at)
        return template


_HEAD = '{"resourceMetrics":['


def _closed(resources: dict[str, dict[str, list[str]]], ends: dict[str, str]) -> Iterable[str]:
    for resource, metrics in resources.items():
        body = ",".join(
            metric + ",".join(points) + ends[metric] for metric, points in metrics.items()
        )
        yield resource + body + ends[resource]


def _cut(row: SimulatedSeries, at: NDArray[np.float64]) -> _SeriesTemplate:
    """Return the encoder's text for one point of a series, in pieces."""
    line = encode.metrics_json([(row.resource, [Sample(row.metric, _VALUE, _AT, row.attributes)])])
    resource, rest = line.removeprefix(_HEAD).split(_METRICS, 1)
    _, length = json.JSONDecoder().raw_decode(rest)
    metric, resource_end = rest[:length], rest[length:].removesuffix("]}")
    head, rest = metric.split(_POINTS, 1)
    _, length = json.JSONDecoder().raw_decode(rest)
    point, metric_end = rest[:length], rest[length:]
    before, after = point.split(_AT_TEXT, 1)
    between, after = after.split(_VALUE_TEXT, 1)
    if before + '"' != '{"timeUnixNano":"' or between != ',"asDouble"':
        raise AssertionError(f"the encoder writes points in another form now: {point}")
    return _SeriesTemplate(
        at=_nanoseconds(at).tolist(),
        value=row.value.tolist(),
        resource=resource + _METRICS,
        metric=head + _POINTS,
        before=before,
        after=after,
        metric_end=metric_end,
        resource_end=resource_end,
    )


def _nanoseconds(at: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return times in whole nanoseconds, rounded as the encoder does it."""
    whole = np.floor(at)
    return whole.astype(np.int64) * 1_000_000_000 + np.rint((at - whole) * 1e9).astype(np.int64)


def _word(value: float) -> str:
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
