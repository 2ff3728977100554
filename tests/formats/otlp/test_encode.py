"""The bytes written by hand are those of the official messages."""

import json
import math

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

AT = 1_790_000_000.25
NS = 1_790_000_000_250_000_000
AGENT = TelemetryResource("gpu-12", "run 1", 2, "a", "rankscope-agent", (("k8s.pod.name", "p-0"),))
PAIRS = attributes({"rank": 3, "hw.id": "GPU-ü", "up": True, "share": 0.5, "below": -1})


def put(pairs, name, **value):
    pair = pairs.add(key=name)
    for field, content in value.items():
        setattr(pair.value, field, content)


def put_agent(pairs):
    put(pairs, "service.name", string_value="rankscope-agent")
    put(pairs, "host.name", string_value="gpu-12")
    put(pairs, "rankscope.job.id", string_value="run 1")
    put(pairs, "rankscope.job.attempt", int_value=2)
    put(pairs, "rankscope.cluster", string_value="a")
    put(pairs, "k8s.pod.name", string_value="p-0")


def put_pairs(pairs):
    put(pairs, "below", int_value=-1)
    put(pairs, "hw.id", string_value="GPU-ü")
    put(pairs, "rank", int_value=3)
    put(pairs, "share", double_value=0.5)
    put(pairs, "up", bool_value=True)


def test_metrics_are_the_bytes_of_the_official_message():
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add()
    put_agent(resource.resource.attributes)
    scope = resource.scope_metrics.add()
    scope.scope.name = "rankscope"
    gauge = scope.metrics.add(name="hw.power", unit="W")
    point = gauge.gauge.data_points.add(time_unix_nano=NS, as_double=300.5)
    put_pairs(point.attributes)
    gauge.gauge.data_points.add(time_unix_nano=NS + 10**9, as_double=0.0)
    counter = scope.metrics.add(name="hw.energy", unit="J")
    counter.sum.data_points.add(time_unix_nano=NS, as_double=math.inf)
    counter.sum.aggregation_temporality = 2
    counter.sum.is_monotonic = True
    scope.metrics.add(name="unheard.of").gauge.data_points.add(time_unix_nano=NS, as_double=-1.0)
    node = request.resource_metrics.add()
    put(node.resource.attributes, "host.name", string_value="gpu-12")
    scope = node.scope_metrics.add()
    scope.scope.name = "rankscope"

    samples = [
        Sample("hw.power", 300.5, AT, PAIRS),
        Sample("hw.energy", math.inf, AT),
        Sample("unheard.of", -1.0, AT),
        Sample("hw.power", 0.0, AT + 1),
    ]
    written = encode.metrics_request([(AGENT, samples), (TelemetryResource("gpu-12"), [])])
    assert ExportMetricsServiceRequest.FromString(written) == request
    assert written == request.SerializeToString(deterministic=True)


def test_logs_are_the_bytes_of_the_official_message():
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    put_agent(resource.resource.attributes)
    scope = resource.scope_logs.add()
    scope.scope.name = "rankscope"
    record = scope.log_records.add(time_unix_nano=NS, event_name="gpu.fault")
    put(record.attributes, "code", int_value=79)
    put(record.attributes, "text", string_value="fell off the bus")

    event = Event("gpu.fault", AT, {"code": 79, "text": "fell off the bus"})
    written = encode.logs_request([(AGENT, [event])])
    assert written == request.SerializeToString(deterministic=True)


def test_json_follows_the_rules_of_otlp():
    samples = [
        Sample("hw.energy", math.nan, AT, (("rank", 3),)),
        Sample("hw.energy", -math.inf, AT),
    ]
    line = encode.metrics_json([(TelemetryResource("h"), samples)])
    assert json.loads(line) == {
        "resourceMetrics": [
            {
                "resource": {
                    "attributes": [{"key": "host.name", "value": {"stringValue": "h"}}],
                },
                "scopeMetrics": [
                    {
                        "scope": {"name": "rankscope"},
                        "metrics": [
                            {
                                "name": "hw.energy",
                                "unit": "J",
                                "sum": {
                                    "aggregationTemporality": 2,
                                    "isMonotonic": True,
                                    "dataPoints": [
                                        {
                                            "timeUnixNano": str(NS),
                                            "asDouble": "NaN",
                                            "attributes": [
                                                {"key": "rank", "value": {"intValue": "3"}}
                                            ],
                                        },
                                        {"timeUnixNano": str(NS), "asDouble": "-Infinity"},
                                    ],
                                },
                            }
                        ],
                    }
                ],
            }
        ]
    }


def test_groups_of_one_resource_become_one():
    written = encode.metrics_request(
        [(AGENT, [Sample("hw.power", 1.0, AT)]), (AGENT, [Sample("hw.power", 2.0, AT)])]
    )
    request = ExportMetricsServiceRequest.FromString(written)
    (resource,) = request.resource_metrics
    (metric,) = resource.scope_metrics[0].metrics
    assert [point.as_double for point in metric.gauge.data_points] == [1.0, 2.0]


@pytest.mark.parametrize("at", [math.nan, math.inf, -math.inf, -1.0, 0.0, 1e300])
def test_a_time_that_is_none_is_written_as_unknown(at):
    groups = [(AGENT, [Sample("hw.power", 1.0, at), Sample("hw.power", 2.0, AT)])]
    decoder = MetricsDecoder(SeriesTable())
    for batch in (
        decoder.protobuf(encode.metrics_request(groups)),
        decoder.json(encode.metrics_json(groups)),
    ):
        assert (batch.rejected, batch.reason) == (1, "points without a time: 1")
        assert batch.columns.value.tolist() == [2.0]


def test_what_is_no_utf8_or_no_64_bit_integer_is_written_as_near_as_can_be():
    pairs = (("a", "x\ud800y"), ("b", 10**30), ("\ud800", 1))
    table = SeriesTable()
    groups = [(TelemetryResource("h"), [Sample("hw.power", 1.0, AT, pairs)])]
    batch = MetricsDecoder(table).protobuf(encode.metrics_request(groups))
    (series,) = batch.columns.series
    assert dict(table[series].attributes) == {"a": "x?y", "b": str(10**30), "?": 1}
    encode.metrics_json(groups)


def test_equal_but_different_scalars_stay_apart():
    """True == 1 == 1.0 and 0.0 == -0.0 in Python, and none of them is another on the wire."""
    samples = [Sample("hw.power", 1.0, AT, (("a", value),)) for value in (True, 1, 1.0, -0.0, 0.0)]
    table = SeriesTable()
    MetricsDecoder(table).protobuf(encode.metrics_request([(TelemetryResource("h"), samples)]))
    written = [repr(table[series].attributes[0][1]) for series in range(len(table))]
    assert written == ["True", "1", "1.0", "-0.0", "0.0"]


def test_texts_of_events_are_not_remembered():
    before = encode._cached_key_value.cache_info().currsize
    for number in range(100):
        event = Event("log.fault", 1.0, {"text": f"never said before: {number}", "pid": number})
        encode.logs_request([(TelemetryResource(host="n"), [event])])
    assert encode._cached_key_value.cache_info().currsize - before < 20
