"""Any metrics request at all: parsed into messages, and these walked in Python."""

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from .columns import FULL, SKIP, MetricsBatch, PointColumns, PointRejections
from .errors import UndecodableError
from .streams import StreamNumbers, blank
from .times import NS
from .times import seconds as seconds_of

CUMULATIVE = 2  # AGGREGATION_TEMPORALITY_CUMULATIVE

NO_TIME = "without a time"
NO_VALUE = "without a value"
NOT_CUMULATIVE = "of a sum that is not cumulative"
NO_ROOM = "of new series while the series table is full"

UNKEPT = {
    "histogram": "of a histogram",
    "exponential_histogram": "of an exponential histogram",
    "summary": "of a summary",
}


@dataclass(slots=True)
class NumberedPoints:
    """Points with ids of a series table on their way into columns; `at` in nanoseconds."""

    series: "array[int]" = field(default_factory=lambda: array("i"))
    at: "array[int]" = field(default_factory=lambda: array("Q"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    rejections: PointRejections = field(default_factory=PointRejections)
    resources: set[int] = field(default_factory=set)

    def batch(self) -> MetricsBatch:
        columns = PointColumns(
            np.frombuffer(self.series, np.int32),
            seconds(np.frombuffer(self.at, np.uint64)),
            np.frombuffer(self.value, np.float64),
        )
        return MetricsBatch(
            columns,
            self.rejections.total,
            self.rejections.text("points"),
            resources=tuple(self.resources),
        )


def seconds(ns: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return nanoseconds since the epoch as seconds, exactly as `times.seconds` does."""
    if len(ns) and (ns == ns[0]).all():  # as what is read at once mostly is
        return np.full(len(ns), seconds_of(int(ns[0])))
    whole = ns // np.uint64(NS)
    return whole.astype(np.float64) + (ns - whole * np.uint64(NS)) / 1e9


def parse(body: bytes) -> ExportMetricsServiceRequest:
    """Return the message in these bytes; raises UndecodableError."""
    try:
        request: ExportMetricsServiceRequest = ExportMetricsServiceRequest.FromString(body)
    except DecodeError:  # whose text holds no place, only the message's name
        raise UndecodableError("not an ExportMetricsServiceRequest in protobuf") from None
    return request


def read(request: ExportMetricsServiceRequest, streams: StreamNumbers) -> MetricsBatch:
    """Return the points of a request, which is altered on the way."""
    points = NamedPoints(streams)
    for of_resource in request.resource_metrics:
        resource = streams.resource(of_resource.resource.SerializeToString())
        for scope in of_resource.scope_metrics:
            for metric in scope.metrics:
                points.resources.add(resource)
                _metric(metric, resource, points)
    return points.batch()


class NamedPoints:
    """Points by the numbers of what names them, on their way into columns."""

    def __init__(self, streams: StreamNumbers) -> None:
        self.streams = streams
        self.rejections = PointRejections()
        self.resources: set[int] = set()
        self.at = array("Q")
        self.value = array("d")
        self._numbers: tuple[array[int], ...] = (array("q"), array("q"), array("q"))

    def add(self, resource: int, metric: int, attributes: int, at: int, value: float) -> None:
        """Take a point; `at` in nanoseconds."""
        for column, number in zip(self._numbers, (resource, metric, attributes), strict=True):
            column.append(number)
        self.at.append(at)
        self.value.append(value)

    def batch(self) -> MetricsBatch:
        numbers = (np.frombuffer(column, np.int64) for column in self._numbers)
        series = self.streams.table.intern_many(*numbers)
        at, value = np.frombuffer(self.at, np.uint64), np.frombuffer(self.value, np.float64)
        timeless = at == 0
        self.rejections.add(NO_TIME, int(timeless.sum()))
        self.rejections.add(NO_ROOM, int((~timeless & (series == FULL)).sum()))
        kept = ~timeless & (series != FULL)
        columns = PointColumns(series[kept], seconds(at[kept]), value[kept])
        return MetricsBatch(
            columns,
            self.rejections.total,
            self.rejections.text("points"),
            resources=tuple(self.resources),
        )


def _metric(metric: Any, resource: int, points: NamedPoints) -> None:
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    data = getattr(metric, kind)
    if kind in UNKEPT:
        points.rejections.add(UNKEPT[kind], len(data.data_points))
    elif kind == "sum" and data.aggregation_temporality != CUMULATIVE:
        points.rejections.add(NOT_CUMULATIVE, len(data.data_points))
    elif data.data_points:
        number = points.streams.table.metric(metric.name)
        if points.streams.table.kept(number):
            _walk(data.data_points, resource, number, points)


def _walk(data_points: Any, resource: int, metric: int, points: NamedPoints) -> None:
    known = points.streams.tails
    for point in data_points:
        at = point.time_unix_nano
        if point.HasField("as_double"):
            value: float | None = point.as_double
        elif point.HasField("as_int"):
            value = float(point.as_int)
        else:
            value = None
        tail = blank(point)
        number = known.get(tail)
        if number is None:
            number = points.streams.learn(tail, point)
        if number == SKIP:
            continue
        if value is None:
            points.rejections.add(NO_VALUE)
        else:
            points.add(resource, metric, number, at, value)
