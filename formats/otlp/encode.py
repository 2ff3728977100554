"""Samples and events to OTLP requests: protobuf written straight to bytes, and JSON lines.

Hostile values pass: a text that is no UTF-8, an integer beyond 64 bits or a time that is no time
is written as near as OTLP can write it, so that one tenant's datagram never stops an agent's push.
"""

import json
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...vocabulary import metrics
from ...vocabulary.samples import Attributes, Event, Sample, Scalar, TelemetryResource
from .. import wire
from . import resources
from .times import nanoseconds

SCOPE = "rankscope"

Groups = Iterable[tuple[TelemetryResource, Sequence[Sample]]]
EventGroups = Iterable[tuple[TelemetryResource, Sequence[Event]]]

_POINT = struct.Struct("<BQBd").pack  # field 3 fixed64 time, field 4 double value
_POINT_BYTES = struct.calcsize("<BQBd")
_DOUBLE = struct.Struct("<d").pack
_TIME, _AS_DOUBLE = 3 << 3 | wire.FIXED64, 4 << 3 | wire.FIXED64
_CUMULATIVE = 2  # AGGREGATION_TEMPORALITY_CUMULATIVE
_COUNTER_TAIL = wire.tag(2, wire.VARINT) + b"\x02" + wire.tag(3, wire.VARINT) + b"\x01"
_BLOCK1 = wire.tag(1, wire.LENGTH)
SCOPE_BLOCK = wire.block(1, wire.block(1, SCOPE.encode()))


def metrics_request(groups: Groups) -> bytes:
    """Return an ExportMetricsServiceRequest: one ResourceMetrics a resource.

    Within it one Metric a name in order of appearance, holding its points in their order.
    """
    out = []
    for resource, names in _by_metric(groups).items():
        scope = [SCOPE_BLOCK]
        scope.extend(wire.block(2, _metric(name, points)) for name, points in names.items())
        out.append(wire.block(1, resource_block(resource) + wire.block(2, b"".join(scope))))
    return b"".join(out)


def logs_request(groups: EventGroups) -> bytes:
    """Return an ExportLogsServiceRequest: one ResourceLogs a resource, events as log records."""
    out = []
    for resource, events in _by_resource(groups).items():
        scope = [SCOPE_BLOCK]
        scope.extend(wire.block(2, _record(event)) for event in events)
        out.append(wire.block(1, resource_block(resource) + wire.block(2, b"".join(scope))))
    return b"".join(out)


def metrics_json(groups: Groups) -> str:
    """Return an ExportMetricsServiceRequest as one line of OTLP JSON."""
    return _line(
        "resourceMetrics",
        [
            {
                "resource": _json_resource(resource),
                "scopeMetrics": [
                    {
                        "scope": {"name": SCOPE},
                        "metrics": [_json_metric(name, points) for name, points in names.items()],
                    }
                ],
            }
            for resource, names in _by_metric(groups).items()
        ],
    )


def logs_json(groups: EventGroups) -> str:
    """Return an ExportLogsServiceRequest as one line of OTLP JSON."""
    return _line(
        "resourceLogs",
        [
            {
                "resource": _json_resource(resource),
                "scopeLogs": [
                    {
                        "scope": {"name": SCOPE},
                        "logRecords": [
                            {
                                "timeUnixNano": str(nanoseconds(event.at)),
                                "eventName": event.name,
                                "attributes": _json_pairs(event.attributes.items()),
                            }
                            for event in events
                        ],
                    }
                ],
            }
            for resource, events in _by_resource(groups).items()
        ],
    )


def _by_metric(groups: Groups) -> dict[TelemetryResource, dict[str, list[Sample]]]:
    found: dict[TelemetryResource, dict[str, list[Sample]]] = {}
    for resource, samples in groups:
        names = found.setdefault(resource, {})
        for sample in samples:
            points = names.get(sample.metric)
            if points is None:
                points = names[sample.metric] = []
            points.append(sample)
    return found


def _by_resource(groups: EventGroups) -> dict[TelemetryResource, list[Event]]:
    found: dict[TelemetryResource, list[Event]] = {}
    for resource, events in groups:
        found.setdefault(resource, []).extend(events)
    return found


def _unit_and_counter(name: str) -> tuple[str, bool]:
    metric = metrics.catalogue().get(name)
    return ("", False) if metric is None else (metric.unit, metric.kind == "counter")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # a lone surrogate from a tenant's JSON is no UTF-8


def resource_block(resource: TelemetryResource) -> bytes:
    """Return the field that says whose the samples or records after it are."""
    attributes = (key_value(1, name, value) for name, value in resources.pairs(resource))
    return wire.block(1, b"".join(attributes))


def _metric(name: str, samples: Iterable[Sample]) -> bytes:
    head, counter = _head(name)
    parts: list[bytes] = []
    last_at, ns = math.nan, 0  # a batch holds few times: convert each once
    for sample in samples:
        if sample.at != last_at:
            last_at, ns = sample.at, nanoseconds(sample.at)
        pairs = sample.attributes
        before, after, _ = _around.get(id(pairs)) or _noted(pairs)
        if ns:
            parts += (before, _POINT(_TIME, ns, _AS_DOUBLE, sample.value), after)
        else:
            point = bytes((_AS_DOUBLE,)) + _DOUBLE(sample.value) + after
            parts += (_BLOCK1, wire.varint(len(point)), point)
    if not counter:
        return head + wire.block(5, b"".join(parts))
    parts.append(_COUNTER_TAIL)
    return head + wire.block(7, b"".join(parts))


@lru_cache(maxsize=1024)
def _head(name: str) -> tuple[bytes, bool]:
    """Return the fields before a metric's points, and whether it counts."""
    unit, counter = _unit_and_counter(name)
    head = wire.block(1, _bytes(name)) + (wire.block(3, unit.encode()) if unit else b"")
    return head, counter


# What stands around time and value of a point, by the identity of its attributes, which are kept
# beside it: who reads the same series over and over keeps them too, and to hash them costs more
# than to find them so.
_around: dict[int, tuple[bytes, bytes, Attributes]] = {}
_MOST_AROUND = 4096


def _noted(pairs: Attributes) -> tuple[bytes, bytes, Attributes]:
    after = b"".join([key_value(7, *pair) for pair in pairs])
    if len(_around) >= _MOST_AROUND:
        _around.clear()
    found = (_BLOCK1 + wire.varint(_POINT_BYTES + len(after)), after, pairs)
    _around[id(pairs)] = found
    return found


def _record(event: Event) -> bytes:
    ns = nanoseconds(event.at)
    parts = [struct.pack("<BQ", 1 << 3 | wire.FIXED64, ns)] if ns else []
    # Hardly any event repeats the text of another: they would only fill the cache.
    parts.extend(_written(6, name, value) for name, value in event.attributes.items())
    if event.name:
        parts.append(wire.block(12, _bytes(event.name)))
    return b"".join(parts)


# The same few attributes stand on every point; typed, since True == 1 == 1.0.
@lru_cache(maxsize=4096, typed=True)
def _cached_key_value(field: int, name: str, value: str | int) -> bytes:
    return _written(field, name, value)


def key_value(field: int, name: str, value: Scalar) -> bytes:
    """Return one attribute as a field of this number."""
    # A float stays out of the cache, where 0.0 and -0.0 would be one.
    if type(value) is float:
        return _written(field, name, value)
    return _cached_key_value(field, name, value)


def _written(field: int, name: str, value: Scalar) -> bytes:
    match value:
        case bool():
            content = wire.tag(2, wire.VARINT) + wire.varint(value)
        case int() if -(1 << 63) <= value < 1 << 63:
            content = wire.tag(3, wire.VARINT) + wire.signed(value)
        case float():
            content = wire.tag(4, wire.FIXED64) + _DOUBLE(value)
        case _:
            content = wire.block(1, _bytes(str(value)))
    key = wire.block(1, _bytes(name)) if name else b""
    return wire.block(field, key + wire.block(2, content))


def _line(key: str, parts: list[dict[str, Any]]) -> str:
    return json.dumps({key: parts}, separators=(",", ":"), allow_nan=False)


def _json_resource(resource: TelemetryResource) -> dict[str, Any]:
    return {"attributes": _json_pairs(resources.pairs(resource))}


def _json_metric(name: str, samples: Iterable[Sample]) -> dict[str, Any]:
    unit, counter = _unit_and_counter(name)
    points: list[dict[str, Any]] = []
    for sample in samples:
        point: dict[str, Any] = {
            "timeUnixNano": str(nanoseconds(sample.at)),
            "asDouble": _number(sample.value),
        }
        if sample.attributes:
            point["attributes"] = _json_pairs(sample.attributes)
        points.append(point)
    metric: dict[str, Any] = {"name": name}
    if unit:
        metric["unit"] = unit
    if counter:
        sums = {"aggregationTemporality": _CUMULATIVE, "isMonotonic": True, "dataPoints": points}
        return {**metric, "sum": sums}
    return {**metric, "gauge": {"dataPoints": points}}


def _json_pairs(pairs: Iterable[tuple[str, Scalar]]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _json_value(value)} for name, value in pairs]


def _json_value(value: Scalar) -> Mapping[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int() if -(1 << 63) <= value < 1 << 63:
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": _number(value)}
        case _:
            return {"stringValue": str(value)}


def _number(value: float) -> float | str:
    """Return a double as JSON can write it."""
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
