"""The layout-remembering path gives what the general path gives, bit for bit."""

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
from tests.examples import examples
from tests.formats.otlp.requests_drawn import REQUESTS, USUAL, build, double, groups

from rankscope.formats import wire
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.formats.otlp.errors import UndecodableError
from rankscope.formats.otlp.payload_layout import PayloadLayouts
from rankscope.formats.otlp.point_blocks import UnusualError
from rankscope.formats.otlp.streams import StreamNumbers


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
@settings(max_examples=examples(80))
def test_any_request_and_its_followers_decode_alike(parts):
    pair = Pair()
    request = build(parts)
    for step in range(3):
        pair.check(changed(request, step * 977).SerializeToString())
        pair.check(request.SerializeToString())


@given(st.lists(REQUESTS, max_size=4))
@settings(max_examples=examples(30))
def test_requests_of_many_shapes_in_turn_decode_alike(requests):
    pair = Pair()
    for parts in [*requests, *requests]:
        pair.check(build(parts).SerializeToString())


@given(USUAL)
@settings(max_examples=examples(60))
def test_a_usual_request_is_remembered_and_its_follower_recognised(parts):
    request = build(parts)
    layouts = PayloadLayouts(StreamNumbers(SeriesTable()))
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
@settings(max_examples=examples(80))
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


def test_a_request_without_points_or_of_histograms_is_left_to_the_general_path():
    layouts = PayloadLayouts(StreamNumbers(SeriesTable()))
    requests: list[Any] = [
        [],
        [("a", [])],
        [("a", [("m", "histogram", [])])],
        [("a", [("m", "gauge", [])])],
    ]
    for parts in requests:
        with pytest.raises(UnusualError):
            layouts.learn(build(parts).SerializeToString())
