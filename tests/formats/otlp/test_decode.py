"""What senders other than ours may write: what is kept, what is counted, what is refused."""

import json
import math

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder, logs_json, logs_protobuf
from rankscope.formats.otlp.errors import UndecodableError
from rankscope.vocabulary.samples import Event, TelemetryResource

NS = 1_790_000_000_250_000_000
AT = 1_790_000_000.25


def request(*metrics, **resource):
    """Return the JSON of a request with these metrics of one resource."""
    attributes = [{"key": key, "value": value} for key, value in resource.items()]
    return {
        "resourceMetrics": [
            {"resource": {"attributes": attributes}, "scopeMetrics": [{"metrics": list(metrics)}]}
        ]
    }


def gauge(*points, name="training.loss"):
    return {"name": name, "gauge": {"dataPoints": list(points)}}


def point(**other):
    return {"timeUnixNano": str(NS), "asDouble": 1.5, **other}


def read(body):
    table = SeriesTable()
    batch = MetricsDecoder(table).json(json.dumps(body))
    return batch, [table[series] for series in batch.columns.series]


def text(value):
    return {"stringValue": value}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"host.name": text("a"), "k8s.node.name": text("b")}, "a"),
        ({"k8s.node.name": text("b"), "service.instance.id": text("c")}, "b"),
        ({"host.name": text(""), "service.instance.id": text("c")}, "c"),
        ({"host.name": {"intValue": "12"}}, "12"),
        ({}, ""),
    ],
)
def test_the_host_is_the_best_name_at_hand(given, expected):
    _, (series,) = read(request(gauge(point()), **given))
    assert series.resource.host == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"intValue": "3"}, 3),
        ({"intValue": 3}, 3),
        (text("3"), 3),
        ({"doubleValue": 3.0}, 3),
        (text("third"), None),
        (text("²"), None),
        ({"boolValue": True}, None),
        ({"doubleValue": "NaN"}, None),
    ],
)
def test_the_attempt_is_understood_as_number_or_text(given, expected):
    resource = {"rankscope.job.id": text("j"), "rankscope.job.attempt": given}
    _, (series,) = read(request(gauge(point()), **resource))
    assert (series.resource.job, series.resource.attempt) == ("j", expected)


def test_a_job_that_names_no_attempt_is_told_apart_from_attempt_0():
    _, (series,) = read(request(gauge(point()), **{"rankscope.job.id": text("j")}))
    assert (series.resource.job, series.resource.attempt) == ("j", None)


def test_other_resource_attributes_are_kept():
    given = {"service.name": text("s"), "k8s.pod.name": text("p"), "rankscope.cluster": text("c")}
    _, (series,) = read(request(gauge(point()), **given))
    expected = TelemetryResource("", None, 0, "c", "s", (("k8s.pod.name", "p"),))
    assert series.resource == expected


def test_lists_maps_and_bytes_become_text_and_empty_values_vanish():
    written = ExportMetricsServiceRequest()
    metric = written.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    one = metric.gauge.data_points.add(time_unix_nano=NS, as_int=-7)
    one.attributes.add(key="none")
    one.attributes.add(key="list").value.array_value.values.add(int_value=1)
    one.attributes[-1].value.array_value.values.add(string_value="ü")
    one.attributes.add(key="map").value.kvlist_value.values.add(key="a").value.bool_value = True
    one.attributes.add(key="bytes").value.bytes_value = b"\xff\x00"
    expected = (("bytes", "/wA="), ("list", '[1,"ü"]'), ("map", '{"a":true}'))

    table = SeriesTable()
    batch = MetricsDecoder(table).protobuf(written.SerializeToString())
    assert table[0].attributes == expected
    assert batch.columns.value.tolist() == [-7.0]

    listed = {"arrayValue": {"values": [{"intValue": "1"}, text("ü")]}}
    mapped = {"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": True}}]}}
    attributes = [
        {"key": "none"},
        {"key": "list", "value": listed},
        {"key": "map", "value": mapped},
        {"key": "bytes", "value": {"bytesValue": "/wA="}},
    ]
    _, (series,) = read(request(gauge(point(attributes=attributes))))
    assert series.attributes == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"asDouble": 1}, 1.0),
        ({"asDouble": "1.5"}, 1.5),
        ({"asDouble": "NaN"}, math.nan),
        ({"asDouble": "Infinity"}, math.inf),
        ({"asDouble": "-Infinity"}, -math.inf),
        ({"asInt": "-9223372036854775808"}, -(2.0**63)),
        ({"asInt": 7}, 7.0),
        ({"asInt": 7.0}, 7.0),
    ],
)
def test_json_values_come_in_every_form_that_otlp_allows(given, expected):
    batch, _ = read(request(gauge({"timeUnixNano": NS, **given})))
    assert batch.columns.at.tolist() == [AT]
    assert batch.columns.value.tolist() == pytest.approx([expected], nan_ok=True)


def test_unknown_json_fields_and_nulls_are_ignored():
    body = request(gauge(point(attributes=None, flags=None, invented={"a": 1}), name="m"))
    body["resourceMetrics"][0]["schemaUrl"] = None
    body["more"] = []
    batch, _ = read(body)
    assert (len(batch.columns), batch.rejected) == (1, 0)


def test_enums_may_be_numbers_or_names_in_json():
    sums = [
        {"name": "m", "sum": {"aggregationTemporality": way, "dataPoints": [point()]}}
        for way in (2, "AGGREGATION_TEMPORALITY_CUMULATIVE")
    ]
    batch, _ = read(request(*sums))
    assert (len(batch.columns), batch.rejected) == (2, 0)


def test_what_cannot_be_kept_is_counted_with_its_reason_in_both_encodings():
    written = ExportMetricsServiceRequest()
    scope = written.resource_metrics.add().scope_metrics.add()
    scope.metrics.add(name="h").histogram.data_points.add(time_unix_nano=NS)
    scope.metrics.add(name="e").exponential_histogram.data_points.add(time_unix_nano=NS)
    scope.metrics.add(name="s").summary.data_points.add(time_unix_nano=NS)
    delta = scope.metrics.add(name="d").sum
    delta.aggregation_temporality = 1
    delta.data_points.add(time_unix_nano=NS, as_int=1)
    points = scope.metrics.add(name="g").gauge.data_points
    points.add(as_int=1)
    points.add(time_unix_nano=NS)
    points.add(time_unix_nano=NS, as_int=1, flags=1)
    points.add(time_unix_nano=NS, as_int=1)
    body = request(
        {"name": "h", "histogram": {"dataPoints": [{"timeUnixNano": NS}]}},
        {"name": "e", "exponentialHistogram": {"dataPoints": [{"timeUnixNano": NS}]}},
        {"name": "s", "summary": {"dataPoints": [{"timeUnixNano": NS}]}},
        {"name": "d", "sum": {"aggregationTemporality": 1, "dataPoints": [point()]}},
        gauge(
            {"asInt": 1},
            {"timeUnixNano": NS},
            {"timeUnixNano": NS, "asInt": 1, "flags": 1},
            {"timeUnixNano": NS, "asInt": 1},
        ),
        {"name": "nothing"},
    )
    for batch in (
        MetricsDecoder(SeriesTable()).protobuf(written.SerializeToString()),
        read(body)[0],
    ):
        assert len(batch.columns) == 1
        assert batch.rejected == 6
        assert batch.reason == (
            "points of a histogram: 1; points of a sum that is not cumulative: 1; "
            "points of a summary: 1; points of an exponential histogram: 1; "
            "points without a time: 1; points without a value: 1"
        )


@pytest.mark.parametrize("time", [-5, "-5", 0, str(2**64), 2**70, -1e300])
def test_a_time_out_of_range_costs_its_point_only(time):
    batch, _ = read(request(gauge({"timeUnixNano": time, "asInt": 1}, point())))
    assert (len(batch.columns), batch.reason) == (1, "points without a time: 1")


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a JSON object"),
        ('{"resourceMetrics": {}}', "resourceMetrics: a list is needed"),
        ('{"resourceMetrics": [1]}', "resourceMetrics[0]: an object is needed"),
        ('{"resourceMetrics": [{"resource": 1}]}', "resourceMetrics[0].resource: an object"),
        (
            '{"resourceMetrics": [{"resource": {"attributes": [{"key": "a", "value": 3}]}}]}',
            "resourceMetrics[0].resource.attributes[0].value: an object is needed",
        ),
        (
            '{"resourceMetrics": [{"scopeMetrics": [{}, {"metrics": "x"}]}]}',
            "resourceMetrics[0].scopeMetrics[1].metrics: a list is needed",
        ),
    ],
)
def test_json_of_another_shape_is_refused_with_the_place(body, complaint):
    with pytest.raises(UndecodableError) as caught:
        MetricsDecoder(SeriesTable()).json(body)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ({"asDouble": "high"}, "asDouble: a number"),
        ({"asDouble": True}, "asDouble: a number"),
        ({"asDouble": [1]}, "asDouble: a number"),
        ({"asDouble": None, "asInt": "1.5"}, "asInt: a whole number"),
        ({"asDouble": None, "asInt": True}, "asInt: a whole number"),
        ({"asDouble": None, "asInt": 2**63}, "asInt: more than 64 bits"),
        ({"timeUnixNano": "soon"}, "timeUnixNano: a whole number"),
        ({"timeUnixNano": 1.5}, "timeUnixNano: a whole number"),
        ({"flags": "x"}, "flags: a whole number"),
        ({"attributes": {}}, "attributes: a list"),
        ({"attributes": [1]}, "attributes[0]: an object"),
        ({"attributes": [{"key": 1}]}, "attributes[0].key: text"),
        (
            {"attributes": [{"key": "a", "value": {"intValue": "x"}}]},
            "attributes[0].value.intValue",
        ),
        ({"attributes": [{"key": "a", "value": {"stringValue": 1}}]}, "value.stringValue: text"),
        ({"attributes": [{"key": "a", "value": {"boolValue": 1}}]}, "boolValue: true or false"),
        ({"attributes": [{"key": "a", "value": {"arrayValue": []}}]}, "arrayValue: an object"),
        (
            {"attributes": [{"key": "a", "value": {"kvlistValue": {"values": [1]}}}]},
            "kvlistValue[0]",
        ),
    ],
)
def test_a_point_of_another_shape_is_refused_with_the_place(broken, complaint):
    with pytest.raises(UndecodableError) as caught:
        read(request(gauge(point(), {**point(), **broken})))
    path = "resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[1]."
    assert str(caught.value).startswith(path)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("half", ["\\ud83d", "\\uDE00", "\\ude00\\ud83d"])
def test_half_of_a_surrogate_pair_becomes_a_character_that_can_be_written(half):
    """A text cut off in the middle of an emoji; no answer, no page and no store could hold it."""
    table = SeriesTable()
    pair = {"key": "a", "value": {"stringValue": "x"}}
    body = json.dumps(request(gauge(point(attributes=[pair]))))
    MetricsDecoder(table).json(body.replace('"x"', f'"x{half}"').encode())
    ((_, text),) = table[0].attributes
    assert str(text).startswith("x\N{REPLACEMENT CHARACTER}")
    assert str(text).encode().decode() == text


def test_a_whole_surrogate_pair_is_its_character():
    events = logs_json(
        '{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "1", "eventName": "e", '
        '"attributes": [{"key": "a", "value": {"stringValue": "\\ud83d\\ude00"}}]}]}]}]}'
    ).events
    assert {"a": "\N{GRINNING FACE}"} == events[0].attributes


def test_json_nested_beyond_reason_is_refused():
    depth = 5000
    nested = '{"arrayValue":{"values":[' * depth + "{}" + "]}}" * depth
    body = json.dumps(request(gauge(point(attributes=[{"key": "a", "value": "NESTED"}]))))
    with pytest.raises(UndecodableError, match="not JSON"):
        MetricsDecoder(SeriesTable()).json(body.replace('"NESTED"', nested))


@pytest.mark.parametrize("body", [b"\xff", b"\x0a\x05ab", b"{}", b"\x0a\x02\x08\x01\x0b"])
def test_protobuf_of_another_kind_is_refused(body):
    with pytest.raises(UndecodableError, match="not an ExportMetricsServiceRequest"):
        MetricsDecoder(SeriesTable()).protobuf(body)
    with pytest.raises(UndecodableError, match="not an ExportLogsServiceRequest"):
        logs_protobuf(body)


def test_an_empty_request_is_a_success():
    decoder = MetricsDecoder(SeriesTable())
    for batch in (decoder.protobuf(b""), decoder.json("{}")):
        assert (len(batch.columns), batch.rejected, batch.reason) == (0, 0, "")
    assert logs_protobuf(b"").events == logs_json("{}").events == []


def test_an_events_name_and_time_are_found_where_older_senders_put_them():
    written = ExportLogsServiceRequest()
    of_resource = written.resource_logs.add()
    of_resource.resource.attributes.add(key="host.name").value.string_value = "h"
    records = of_resource.scope_logs.add().log_records
    old = records.add(observed_time_unix_nano=NS)
    old.attributes.add(key="event.name").value.string_value = "change"
    old.attributes.add(key="kind").value.string_value = "code"
    records.add(event_name="change")
    records.add(time_unix_nano=NS)
    expected = Event("change", AT, {"kind": "code"}, TelemetryResource("h"))

    body = {
        "resourceLogs": [
            {
                "resource": {"attributes": [{"key": "host.name", "value": text("h")}]},
                "scopeLogs": [
                    {
                        "logRecords": [
                            {
                                "observedTimeUnixNano": str(NS),
                                "traceId": "5b8efff798038103d269b633813fc60c",
                                "attributes": [
                                    {"key": "event.name", "value": text("change")},
                                    {"key": "kind", "value": text("code")},
                                ],
                            },
                            {"eventName": "change", "timeUnixNano": "-1"},
                            {"timeUnixNano": NS},
                        ]
                    }
                ],
            }
        ]
    }
    for batch in (logs_protobuf(written.SerializeToString()), logs_json(json.dumps(body))):
        assert batch.events == [expected]
        assert batch.rejected == 2
        assert batch.reason == "records without a time: 1; records without an event name: 1"


def test_a_log_record_of_another_shape_is_refused_with_the_place():
    body = '{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"eventName": 3}]}]}]}'
    with pytest.raises(UndecodableError) as caught:
        logs_json(body)
    path = "resourceLogs[0].scopeLogs[0].logRecords[0].eventName: text is needed"
    assert str(caught.value) == path
