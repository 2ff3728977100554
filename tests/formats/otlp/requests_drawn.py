"""Requests that Hypothesis draws, of any shape and of the usual one, and such as agents send."""

import struct
from typing import Any

from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from rankscope.vocabulary.samples import Sample, TelemetryResource

NAN_BITS = [0x7FF8_0000_0000_0000, 0x7FF0_0000_0000_0002, 0xFFF8_0000_0000_BEEF]
DOUBLES = st.integers(0, 2**64 - 1) | st.sampled_from(NAN_BITS) | st.just(0)
TIMES = st.sampled_from([0, 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
POINTS = st.fixed_dictionaries(
    {
        "time": TIMES | st.none(),
        "start": TIMES | st.none(),
        "value": st.tuples(st.just("as_double"), DOUBLES)
        | st.tuples(st.just("as_int"), st.integers(-(2**63), 2**63 - 1))
        | st.none(),
        "flags": st.sampled_from([0, 0, 0, 1, 2]),
        "attributes": st.dictionaries(
            st.sampled_from(["rank", "a", ""]), st.sampled_from([1, 7, True, 1.0, "x", None, [2]])
        ),
        "exemplar": st.sampled_from([False] * 9 + [True]),
    }
)
METRICS = st.tuples(
    st.sampled_from(["training.loss", "hw.energy", "ü", ""]),
    st.sampled_from(["gauge", "gauge", "sum", "delta", "histogram", "summary", "none"]),
    st.lists(POINTS, max_size=5),
)
REQUESTS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.lists(METRICS, max_size=4)), max_size=3
)


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def put(pair, value):
    match value:
        case bool():
            pair.value.bool_value = value
        case int():
            pair.value.int_value = value
        case float():
            pair.value.double_value = value
        case str():
            pair.value.string_value = value
        case list():
            pair.value.array_value.values.add(int_value=value[0])


def build(parts: Any):
    request = ExportMetricsServiceRequest()
    for host, metrics in parts:
        of_resource = request.resource_metrics.add()
        if host is not None:
            of_resource.resource.attributes.add(key="host.name").value.string_value = host
        scope = of_resource.scope_metrics.add(schema_url="https://example.org/ä" if host else "")
        scope.scope.name = "test"
        for name, kind, points in metrics:
            metric = scope.metrics.add(name=name, description="what it says", unit="1")
            if kind == "none":
                continue
            if kind in ("histogram", "summary"):
                data = getattr(metric, kind)
                data.SetInParent()
                for point in points:
                    data.data_points.add(time_unix_nano=point["time"] or 0)
                continue
            data = metric.gauge if kind == "gauge" else metric.sum
            data.SetInParent()
            if kind != "gauge":
                data.aggregation_temporality = 2 if kind == "sum" else 1
            for point in points:
                put_point(data.data_points.add(), point)
    return request


def put_point(message, point):
    message.time_unix_nano = point["time"] or 0
    message.start_time_unix_nano = point["start"] or 0
    if point["value"] is not None:
        kind, value = point["value"]
        setattr(message, kind, double(value) if kind == "as_double" else value)
    message.flags = point["flags"]
    for name, value in point["attributes"].items():
        put(message.attributes.add(key=name), value)
    if point["exemplar"]:
        message.exemplars.add(time_unix_nano=point["time"] or 1, as_double=1.0)


def usual(point):
    """Return a point in the form in which nearly all are sent."""
    return {
        **point,
        "time": point["time"] or 5,
        "value": point["value"] or ("as_double", 0),
        "exemplar": False,
    }


USUAL = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.lists(
            st.tuples(
                st.sampled_from(["training.loss", "hw.energy"]),
                st.sampled_from(["gauge", "sum"]),
                st.lists(
                    POINTS.map(usual),
                    min_size=1,
                    max_size=4,
                ),
            ),
            min_size=1,
            max_size=3,
        ),
    ),
    min_size=1,
    max_size=2,
)


def groups(*, host="gpu-12", points=20, ranks=4, at=1.79e9):
    samples = [
        Sample("training.loss", float(point + rank), at + point, (("rank", rank),))
        for point in range(points)
        for rank in range(ranks)
    ]
    return [(TelemetryResource(host, "job"), samples)]
