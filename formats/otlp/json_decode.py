"""OTLP JSON, walked by its own rules.

protobuf's stock JSON parser would read trace ids as base64 where OTLP writes hex, and refuses
what OTLP says to ignore. Keys are lowerCamelCase, 64-bit integers text or number, null is absent.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from ...vocabulary.samples import Resource, attributes
from . import resources, values
from .columns import FULL, LogsBatch, MetricsBatch, SeriesTable
from .errors import UndecodableError, within
from .general import CUMULATIVE, NO_ROOM, NO_TIME, NO_VALUE, NOT_CUMULATIVE, UNKEPT, Points, unkept
from .logs import Events
from .streams import NO_RECORDED_VALUE

_CUMULATIVE = (CUMULATIVE, "AGGREGATION_TEMPORALITY_CUMULATIVE")
_UNKEPT = dict(zip(("histogram", "exponentialHistogram", "summary"), UNKEPT, strict=True))

Visit = Callable[[dict[str, Any], Resource], None]


def decode_metrics(body: bytes | str, table: SeriesTable) -> MetricsBatch:
    """Return the points of an ExportMetricsServiceRequest; raises UndecodableError."""
    points = Points()

    def visit(metric: dict[str, Any], resource: Resource) -> None:
        _metric(metric, resource, table, points)

    _walk(body, ("resourceMetrics", "scopeMetrics", "metrics"), visit)
    return points.batch()


def decode_logs(body: bytes | str) -> LogsBatch:
    """Return the events of an ExportLogsServiceRequest; raises UndecodableError."""
    events = Events()

    def visit(record: dict[str, Any], resource: Resource) -> None:
        ns = _ns(record, "timeUnixNano") or _ns(record, "observedTimeUnixNano")
        with within("attributes"):
            pairs = values.json_pairs(record.get("attributes"))
        events.add(_text(record, "eventName"), ns, pairs, resource)

    _walk(body, ("resourceLogs", "scopeLogs", "logRecords"), visit)
    return events.batch()


def _walk(body: bytes | str, levels: tuple[str, str, str], visit: Visit) -> None:
    """Visit every metric or record with its resource, errors saying where they are."""
    of_resources, scopes, leaves = levels
    try:
        for place, of_resource in _listed(_parsed(body), of_resources):
            with within(place):
                resource = _resource(of_resource)
                for place_in, scope in _listed(of_resource, scopes):
                    with within(place_in):
                        for last, leaf in _listed(scope, leaves):
                            with within(last):
                                visit(leaf, resource)
    except RecursionError:
        raise UndecodableError("nested too deeply") from None


def _parsed(body: bytes | str) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UndecodableError(f"not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise UndecodableError("not a JSON object")
    return parsed


def _listed(holder: dict[str, Any], key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with within(key):
        listed = values.objects(holder.get(key))
    for index, item in enumerate(listed):
        yield f"{key}[{index}]", item


def _resource(holder: dict[str, Any]) -> Resource:
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


def _metric(metric: dict[str, Any], resource: Resource, table: SeriesTable, points: Points) -> None:
    name = _text(metric, "name")
    for kind in ("gauge", "sum", *_UNKEPT):
        if metric.get(kind) is None:
            continue
        with within(kind):
            data = values.an_object(metric[kind])
            with within("dataPoints"):
                listed = values.objects(data.get("dataPoints"))
            if kind in _UNKEPT:
                points.rejections.add(unkept(_UNKEPT[kind], name), len(listed))
            elif kind == "sum" and data.get("aggregationTemporality") not in _CUMULATIVE:
                points.rejections.add(NOT_CUMULATIVE, len(listed))
            else:
                for index, point in enumerate(listed):
                    try:  # `within` would cost more than the point itself
                        _point(point, resource, name, table, points)
                    except UndecodableError as error:
                        raise error.inside(f"dataPoints[{index}]") from None
        return


def _point(
    point: dict[str, Any], resource: Resource, name: str, table: SeriesTable, points: Points
) -> None:
    flags = point.get("flags")
    if flags and values.whole(flags, "flags") & NO_RECORDED_VALUE:
        return
    try:
        pairs = attributes(values.json_pairs(point.get("attributes")))
    except UndecodableError as error:
        raise error.inside("attributes") from None
    series = table.intern(resource, name, pairs)
    if point.get("asDouble") is not None:
        value = values.number(point["asDouble"], "asDouble")
    elif point.get("asInt") is not None:
        value = float(values.whole(point["asInt"], "asInt"))
    else:
        points.rejections.add(NO_VALUE)
        return
    at = _ns(point, "timeUnixNano")
    if at <= 0:
        points.rejections.add(NO_TIME)
    elif series == FULL:
        points.rejections.add(NO_ROOM)
    else:
        points.series.append(series)
        points.at.append(at)
        points.value.append(value)


def _ns(holder: dict[str, Any], key: str) -> int:
    """Return a time in nanoseconds; 0, like the absent one, where it is negative or past 2554."""
    given = holder.get(key)
    if given is None:
        return 0
    ns = values.unbounded(given, key)
    return ns if 0 < ns < 1 << 64 else 0
