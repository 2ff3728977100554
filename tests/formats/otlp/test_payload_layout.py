"""The layout-remembering path gives what the general path gives, bit for bit."""

import contextlib
import re
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from rankscope.formats import wire
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.formats.otlp.errors import UndecodableError
from rankscope.formats.otlp.payload_layout import Layouts
from rankscope.formats.otlp.point_blocks import UnusualError
from rankscope.formats.otlp.streams import Streams
from rankscope.vocabulary.samples import Resource, Sample

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


def changed(request, step):
    """Return a request like this one, later: other times and values, the rest as it was."""
    later = ExportMetricsServiceRequest()
    later.CopyFrom(request)
    for of_resource in later.resource_metrics:
        for scope in of_resource.scope_metrics:
            for metric in scope.metrics:
                for data in (metric.gauge, metric.sum):
                    for point in data.data_points:
                        point.time_unix_nano = (point.time_unix_nano * 31 + step) % 2**64
                        if point.start_time_unix_nano:
                            point.start_time_unix_nano ^= step << 8 | 1 << 63
                        if point.HasField("as_double"):
                            point.as_double = double(step * 0x0101_0101_0101_0101 % 2**64)
                        if point.HasField("as_int"):
                            point.as_int = -step - point.as_int // 2
    return later


class Pair:
    """One decoder as it is and one that has only the general path, on tables of their own."""

    def __init__(self):
        self.tables = SeriesTable(), SeriesTable()
        self.fast = MetricsDecoder(self.tables[0])
        self.slow = MetricsDecoder(self.tables[1])

    def check(self, body):
        try:
            expected = self.slow.general(body)
        except UndecodableError as error:
            with pytest.raises(UndecodableError, match=re.escape(str(error))):
                self.fast.protobuf(body)
            return
        actual = self.fast.protobuf(body)
        assert actual.columns.series.dtype == np.int32
        assert actual.columns.series.tolist() == expected.columns.series.tolist()
        assert actual.columns.at.tobytes() == expected.columns.at.tobytes()
        assert actual.columns.value.tobytes() == expected.columns.value.tobytes()
        assert (actual.rejected, actual.reason) == (expected.rejected, expected.reason)
        fast, slow = ([repr(table[i]) for i in range(len(table))] for table in self.tables)
        assert fast == slow


@given(REQUESTS)
@settings(max_examples=80)
def test_any_request_and_its_followers_decode_alike(parts):
    pair = Pair()
    request = build(parts)
    for step in range(3):
        pair.check(changed(request, step * 977).SerializeToString())
        pair.check(request.SerializeToString())


@given(st.lists(REQUESTS, max_size=4))
@settings(max_examples=30)
def test_requests_of_many_shapes_in_turn_decode_alike(requests):
    pair = Pair()
    for parts in [*requests, *requests]:
        pair.check(build(parts).SerializeToString())


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


@given(USUAL)
@settings(max_examples=60)
def test_a_usual_request_is_remembered_and_its_follower_recognised(parts):
    request = build(parts)
    layouts = Layouts(Streams(SeriesTable()))
    first = request.SerializeToString()
    assert layouts.decode(first) is None
    learnt = layouts.learn(first)
    pair = Pair()
    again = layouts.decode(first)
    assert again is not None
    assert again.columns.value.tobytes() == learnt.columns.value.tobytes()
    follower = changed(request, 12345)
    body = follower.SerializeToString()
    if len(body) == len(first):  # else a time became 0 and its field is gone
        assert layouts.decode(body) is not None
    pair.check(first)
    pair.check(body)


@given(USUAL, st.data())
@settings(max_examples=80)
def test_damaged_bytes_decode_alike_or_not_at_all(parts, data):
    body = build(parts).SerializeToString()
    pair = Pair()
    pair.check(body)
    at = data.draw(st.integers(0, len(body) - 1))
    byte = data.draw(st.integers(0, 255))
    pair.check(body[:at] + bytes((byte,)) + body[at + 1 :])
    pair.check(body[:at])
    pair.check(body[:at] + body[at + 1 :])
    pair.check(body + body[at:])
    pair.check(body)


def test_every_single_changed_byte_of_a_known_layout_decodes_alike():
    """Wherever a byte lies, inside a field or in the bones, it counts."""
    body = encode.metrics_request(groups(points=2))
    pair = Pair()
    pair.check(body)
    for at in range(len(body)):
        pair.check(body[:at] + bytes((body[at] ^ 1,)) + body[at + 1 :])


def of_points(*written):
    """Return a request of one gauge whose points are given as bytes."""
    points = b"".join(wire.block(1, point) for point in written)
    metric = wire.block(1, b"training.loss") + wire.block(5, points)
    return wire.block(1, wire.block(2, wire.block(2, metric)))


TIME = b"\x19" + struct.pack("<Q", 1_790_000_000_000_000_000)
VALUE = b"\x21" + struct.pack("<d", 2.5)
INT = b"\x31" + struct.pack("<q", -3)
NO_TIME = b"\x19" + bytes(8)
START = b"\x11" + bytes(8)


@pytest.mark.parametrize(
    "point",
    [
        NO_TIME + VALUE,
        TIME + VALUE + NO_TIME,
        TIME + VALUE + TIME[:1] + b"\x01" + bytes(7),
        TIME + VALUE + INT,
        TIME + INT + VALUE,
        VALUE + TIME,
        START + TIME + VALUE,
        TIME + START + VALUE,
        TIME + VALUE + START,
        TIME + VALUE + b"\x40\x01",
        TIME + VALUE + b"\x40\x01\x40\x00",
        TIME + VALUE + b"\x40\x81\x00",
        TIME + VALUE + b"\x78\x01",
        TIME + b"\x40\x01",
        TIME,
        VALUE,
        b"",
    ],
)
def test_a_point_in_any_order_of_its_fields_decodes_alike(point):
    """Protobuf lets fields come in any order and more than once, the last one counting."""
    pair = Pair()
    ordinary = TIME + VALUE
    for body in (of_points(point), of_points(ordinary, point, ordinary), of_points(point)):
        pair.check(body)
        pair.check(body)


def test_a_time_of_zero_in_a_known_layout_is_no_time():
    pair = Pair()
    pair.check(of_points(TIME + VALUE, TIME + INT))
    pair.check(of_points(NO_TIME + VALUE, TIME + INT))
    batch = pair.fast.protobuf(of_points(NO_TIME + VALUE, TIME + INT))
    assert batch.columns.value.tolist() == [-3.0]
    assert (batch.rejected, batch.reason) == (1, "points without a time: 1")


def groups(*, host="gpu-12", points=20, ranks=4, at=1.79e9):
    samples = [
        Sample("training.loss", float(point + rank), at + point, (("rank", rank),))
        for point in range(points)
        for rank in range(ranks)
    ]
    return [(Resource(host, "job"), samples)]


def test_layouts_of_several_lengths_live_side_by_side():
    layouts = Layouts(Streams(SeriesTable()))
    bodies = [encode.metrics_request(groups(points=points)) for points in (1, 2, 3)]
    for body in bodies:
        layouts.learn(body)
    assert all(layouts.decode(body) is not None for body in bodies)


def test_memory_of_layouts_is_bounded():
    layouts = Layouts(Streams(SeriesTable()), max_bytes=100_000)
    for number in range(500):
        layouts.learn(encode.metrics_request(groups(host=f"gpu-{number:04}", points=20)))
    assert 0 < len(layouts) < 100
    assert layouts.decode(encode.metrics_request(groups(host="gpu-0499", points=20))) is not None
    assert layouts.decode(encode.metrics_request(groups(host="gpu-0000", points=20))) is None
    assert 0 < layouts.nbytes <= 100_000


def test_senders_of_one_shape_share_it():
    layouts = Layouts(Streams(SeriesTable()))
    layouts.learn(encode.metrics_request(groups(host="gpu-00")))
    first = layouts.nbytes
    layouts.learn(encode.metrics_request(groups(host="gpu-01")))
    assert layouts.nbytes - first < first / 3


def test_one_sender_cannot_fill_the_memory_with_layouts_of_one_length():
    layouts = Layouts(Streams(SeriesTable()))
    for number in range(100):
        samples = [Sample("training.loss", 1.0, 1.79e9, (("seq", 1000 + number),))]
        layouts.learn(encode.metrics_request([(Resource("h"), samples)]))
    assert len(layouts) <= 10


def test_of_a_sender_that_never_repeats_itself_few_layouts_are_remembered():
    """What is remembered costs more than decoding; a sender that turns steady is noticed."""
    layouts = Layouts(Streams(SeriesTable()))
    for number in range(200):
        layouts.learn(encode.metrics_request(groups(points=1 + number, ranks=1)))
    assert len(layouts) < 50
    body = encode.metrics_request(groups(points=3, ranks=7))
    for _ in range(20):
        if layouts.decode(body) is None:
            layouts.learn(body)
    assert layouts.decode(body) is not None


@given(USUAL, st.data())
@settings(max_examples=60)
def test_an_undecodable_request_leaves_no_trace(parts, data):
    """Nothing of it is learnt, so that who sends garbage cannot fill what others share."""
    body = build(parts).SerializeToString()
    at = data.draw(st.integers(0, len(body) - 1))
    damaged = body[:at] + bytes((data.draw(st.integers(0, 255)),)) + body[at + 1 :]
    table = SeriesTable()
    streams = Streams(table)
    decoder = MetricsDecoder(table)
    with contextlib.suppress(UnusualError, UndecodableError):
        Layouts(streams).learn(damaged)
    try:
        decoder.general(damaged)
    except UndecodableError:
        assert (streams.size, len(table.resources), table.metrics) == (0, 0, [])
        assert (len(table), len(table.attributes), table.attributes.pairs) == (0, 0, [])


def test_a_request_without_points_or_of_histograms_is_left_to_the_general_path():
    layouts = Layouts(Streams(SeriesTable()))
    requests: list[Any] = [
        [],
        [("a", [])],
        [("a", [("m", "histogram", [])])],
        [("a", [("m", "gauge", [])])],
    ]
    for parts in requests:
        with pytest.raises(UnusualError):
            layouts.learn(build(parts).SerializeToString())


def test_a_full_table_is_said_each_time_and_known_series_live_on():
    table = SeriesTable(capacity=3)
    decoder = MetricsDecoder(table)
    body = encode.metrics_request(groups(points=2, ranks=4))
    for _ in range(3):
        batch = decoder.protobuf(body)
        assert batch.columns.series.tolist() == [0, 1, 2, 0, 1, 2]
        assert batch.reason == "points of new series while the series table is full: 2"
        assert decoder.general(body).reason == batch.reason


def test_columns_of_a_shared_layout_cannot_be_written_to():
    decoder = MetricsDecoder(SeriesTable())
    batch = decoder.protobuf(encode.metrics_request(groups()))
    with pytest.raises(ValueError, match="read-only"):
        batch.columns.series[0] = 7


def test_streams_forget_beyond_their_bound_and_learn_again():
    table = SeriesTable()
    streams = Streams(table, limit=10)
    layouts = Layouts(streams)
    for number in range(50):
        streams.trim()
        layouts.learn(encode.metrics_request(groups(host=f"h{number}")))
        assert streams.size <= 20
    streams.trim()
    layouts.learn(encode.metrics_request(groups(host="h0")))
    assert len(table) == 50 * 4
