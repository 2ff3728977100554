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

from .columns import FULL, SKIP, Columns, MetricsBatch, Rejections
from .errors import UndecodableError
from .streams import Stream, Streams, blank
from .times import NS

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
class Points:
    """Points on their way into columns; `at` in nanoseconds."""

    series: "array[int]" = field(default_factory=lambda: array("i"))
    at: "array[int]" = field(default_factory=lambda: array("Q"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    rejections: Rejections = field(default_factory=Rejections)

    def batch(self) -> MetricsBatch:
        """Return the points as a batch."""
        columns = Columns(
            np.frombuffer(self.series, np.int32),
            seconds(np.frombuffer(self.at, np.uint64)),
            np.frombuffer(self.value, np.float64),
        )
        return MetricsBatch(columns, self.rejections.total, self.rejections.text("points"))


def seconds(ns: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return nanoseconds since the epoch as seconds, exactly as `times.seconds` does."""
    whole = ns // np.uint64(NS)
    return whole.astype(np.float64) + (ns - whole * np.uint64(NS)) / 1e9


def parse(body: bytes) -> ExportMetricsServiceRequest:
    """Return the message in these bytes; raises UndecodableError."""
    try:
        request: ExportMetricsServiceRequest = ExportMetricsServiceRequest.FromString(body)
    except DecodeError:  # whose text holds no place, only the message's name
        raise UndecodableError("not an ExportMetricsServiceRequest in protobuf") from None
    return request


def read(request: ExportMetricsServiceRequest, streams: Streams) -> MetricsBatch:
    """Return the points of a request, which is altered on the way."""
    points = Points()
    for of_resource in request.resource_metrics:
        resource = of_resource.resource.SerializeToString()
        for scope in of_resource.scope_metrics:
            for metric in scope.metrics:
                _metric(metric, resource, streams, points)
    return points.batch()


def _metric(metric: Any, resource: bytes, streams: Streams, points: Points) -> None:
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    data = getattr(metric, kind)
    if kind in UNKEPT:
        points.rejections.add(UNKEPT[kind], len(data.data_points))
    elif kind == "sum" and data.aggregation_temporality != CUMULATIVE:
        points.rejections.add(NOT_CUMULATIVE, len(data.data_points))
    elif data.data_points:
        _walk(data.data_points, streams.of(resource, metric.name), points)


def _walk(data_points: Any, stream: Stream, points: Points) -> None:
    known = stream.known
    for point in data_points:
        at = point.time_unix_nano
        if point.HasField("as_double"):
            value: float | None = point.as_double
        elif point.HasField("as_int"):
            value = float(point.as_int)
        else:
            value = None
        tail = blank(point)
        series = known.get(tail)
        if series is None:
            series = stream.learn(tail, point)
        if series == SKIP:
            continue
        if value is None:
            points.rejections.add(NO_VALUE)
        elif at == 0:
            points.rejections.add(NO_TIME)
        elif series == FULL:
            points.rejections.add(NO_ROOM)
        else:
            points.series.append(series)
            points.at.append(at)
            points.value.append(value)
