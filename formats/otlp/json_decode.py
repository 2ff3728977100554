"""OTLP JSON, walked by its own rules.

protobuf's stock JSON parser would read trace ids as base64 where OTLP writes hex, and refuses
what OTLP says to ignore. Keys are lowerCamelCase, 64-bit integers text or number, null is absent.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ...vocabulary.samples import Attributes, TelemetryResource, attributes
from . import nccl_metrics, resources, values
from .columns import FULL, SKIP, LogsBatch, MetricsBatch, SeriesTable
from .errors import UndecodableError, within
from .general import CUMULATIVE, NO_ROOM, NO_TIME, NO_VALUE, NOT_CUMULATIVE, UNKEPT, NumberedPoints
from .logs import LogEvents
from .streams import NO_RECORDED_VALUE
from .text_bounds import TextBounds

_CUMULATIVE = (CUMULATIVE, "AGGREGATION_TEMPORALITY_CUMULATIVE")
_UNKEPT = {**UNKEPT, "exponentialHistogram": UNKEPT["exponential_histogram"]}
_KINDS = ("gauge", "sum", *_UNKEPT)

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

Visit = Callable[[dict[str, Any], TelemetryResource], None]


def decode_metrics(body: bytes | str, table: SeriesTable) -> MetricsBatch:
    """Return the points of an ExportMetricsServiceRequest; raises UndecodableError."""
    metrics = _RequestMetrics(table)
    _walk(body, ("resourceMetrics", "scopeMetrics", "metrics"), metrics.visit)
    return metrics.points.batch()


def decode_logs(body: bytes | str, bounds: TextBounds) -> LogsBatch:
    """Return the events of an ExportLogsServiceRequest; raises UndecodableError."""
    events = LogEvents(bounds)

    def visit(record: dict[str, Any], resource: TelemetryResource) -> None:
        ns = time_ns(record) or time_ns(record, "observedTimeUnixNano")
        with within("attributes"):
            pairs = values.json_pairs(record.get("attributes"))
        events.add(_text(record, "eventName"), ns, pairs, resource)

    _walk(body, ("resourceLogs", "scopeLogs", "logRecords"), visit)
    return events.batch()


def _walk(body: bytes | str, levels: tuple[str, str, str], visit: Visit) -> None:
    """Visit every metric or record with its resource, errors saying where they are."""
    of_resources, scopes, leaves = levels
    try:
        for place, of_resource in listed(parsed(body), of_resources):
            with within(place):
                resource = _resource(of_resource)
                for place_in, scope in listed(of_resource, scopes):
                    with within(place_in):
                        for last, leaf in listed(scope, leaves):
                            with within(last):
                                visit(leaf, resource)
    except RecursionError:
        raise UndecodableError("nested too deeply") from None


def parsed(body: bytes | str) -> dict[str, Any]:
    """Return the object in a body; raises UndecodableError."""
    try:
        text = body if isinstance(body, str) else body.decode(json.detect_encoding(body))
        found = json.loads(text)
        if _SURROGATE.search(text):
            found = _whole_texts(found)
    except (ValueError, RecursionError) as error:
        raise UndecodableError(f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise UndecodableError("not a JSON object")
    return found


def _whole_texts(value: Any) -> Any:
    """Return a value with U+FFFD for half of a surrogate pair: no answer of ours could hold it."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole_texts(one) for one in value]
    if isinstance(value, dict):
        return {_whole_texts(key): _whole_texts(one) for key, one in value.items()}
    return value


def listed(holder: dict[str, Any], key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a list, each with where it is."""
    with within(key):
        items = values.objects(holder.get(key))
    for index, item in enumerate(items):
        yield f"{key}[{index}]", item


def _resource(holder: dict[str, Any]) -> TelemetryResource:
    with within("resource"):
        message = values.an_object(holder.get("resource"))
        with within("attributes"):
            return resources.resource(values.json_pairs(message.get("attributes")))


def _text(holder: dict[str, Any], key: str) -> str:
    text = holder.get(key)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise UndecodableError("text is needed", key)
    return text


class _RequestMetrics:
    """The metrics of one request on their way into points.

    Attributes repeat from point to point: each list is read once, known by its text.
    """

    def __init__(self, table: SeriesTable) -> None:
        self._table = table
        self._pairs: dict[str, Attributes] = {}
        self.points = NumberedPoints()

    def visit(self, metric: dict[str, Any], resource: TelemetryResource) -> None:
        name = _text(metric, "name")
        kind = next((kind for kind in _KINDS if metric.get(kind) is not None), None)
        # What is mapped belongs to whom the mapping says.
        if resource.job is not None or name not in nccl_metrics.METRICS:
            self.points.resources.add(self._table.resource(resource))
        if kind is None:
            return
        with within(kind):
            data = values.an_object(metric[kind])
            with within("dataPoints"):
                listed = values.objects(data.get("dataPoints"))
            if kind in _UNKEPT:
                self.points.rejections.add(_UNKEPT[kind], len(listed))
            elif kind == "sum" and data.get("aggregationTemporality") not in _CUMULATIVE:
                self.points.rejections.add(NOT_CUMULATIVE, len(listed))
            else:
                known: dict[str, tuple[int, float]] = {}
                for index, point in enumerate(listed):
                    try:  # `within` would cost more than the point itself
                        self._point(point, resource, name, known)
                    except UndecodableError as error:
                        raise error.inside(f"dataPoints[{index}]") from None

    def _point(
        self,
        point: dict[str, Any],
        resource: TelemetryResource,
        name: str,
        known: dict[str, tuple[int, float]],
    ) -> None:
        if ended(point):
            return
        written = repr(point.get("attributes"))
        series, factor = known.get(written, (None, 1.0))
        if series is None:
            pairs = self._pairs.get(written)
            if pairs is None:
                with within("attributes"):
                    pairs = attributes(values.json_pairs(point.get("attributes")))
                self._pairs[written] = pairs
            series, factor = known[written] = self._series(name, resource, pairs)
        if series == SKIP:
            return
        value = point_value(point)
        if value is None:
            self.points.rejections.add(NO_VALUE)
            return
        at = time_ns(point)
        if at <= 0:
            self.points.rejections.add(NO_TIME)
        elif series == FULL:
            self.points.rejections.add(NO_ROOM)
        else:
            self.points.series.append(series)
            self.points.at.append(at)
            self.points.value.append(value * factor)

    def _series(
        self, name: str, resource: TelemetryResource, pairs: Attributes
    ) -> tuple[int, float]:
        """Return a series, and what its values are multiplied with to be in the metric's unit."""
        factor = 1.0
        if name in nccl_metrics.METRICS and (found := nccl_metrics.mapped(name, resource, pairs)):
            name, resource, pairs, factor = found
            self.points.resources.add(self._table.resource(resource))
        return self._table.intern(resource, name, pairs), factor


def ended(point: dict[str, Any]) -> bool:
    """Return whether a point only says that its series has ended."""
    flags = point.get("flags")
    return bool(flags and values.whole(flags, "flags") & NO_RECORDED_VALUE)


def point_value(point: dict[str, Any]) -> float | None:
    """Return the value of a point, None where it has none."""
    if point.get("asDouble") is not None:
        return values.number(point["asDouble"], "asDouble")
    if point.get("asInt") is not None:
        return float(values.whole(point["asInt"], "asInt"))
    return None


def time_ns(holder: dict[str, Any], key: str = "timeUnixNano") -> int:
    """Return a time in nanoseconds; 0, like the absent one, where it is negative or past 2554."""
    given = holder.get(key)
    if given is None:
        return 0
    ns = values.unbounded(given, key)
    return ns if 0 < ns < 1 << 64 else 0
