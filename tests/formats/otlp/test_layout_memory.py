"""What is remembered of layouts: whose, how many, for how long."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.formats.otlp.requests_drawn import USUAL, build, groups

from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.formats.otlp.errors import UndecodableError
from rankscope.formats.otlp.payload_layout import PayloadLayouts
from rankscope.formats.otlp.point_blocks import UnusualError
from rankscope.formats.otlp.streams import StreamNumbers
from rankscope.vocabulary.samples import Sample, TelemetryResource


def test_layouts_of_several_lengths_live_side_by_side():
    layouts = PayloadLayouts(StreamNumbers(SeriesTable()))
    bodies = [encode.metrics_request(groups(points=points)) for points in (1, 2, 3)]
    for body in bodies:
        layouts.learn(body)
    assert all(layouts.decode(body) is not None for body in bodies)


def test_memory_of_layouts_is_bounded():
    layouts = PayloadLayouts(StreamNumbers(SeriesTable()), max_bytes=100_000)
    for number in range(500):
        layouts.learn(encode.metrics_request(groups(host=f"gpu-{number:04}", points=20)))
    assert 0 < len(layouts) < 100
    assert layouts.decode(encode.metrics_request(groups(host="gpu-0499", points=20))) is not None
    assert layouts.decode(encode.metrics_request(groups(host="gpu-0000", points=20))) is None
    assert 0 < layouts.nbytes <= 100_000


def test_senders_of_one_shape_share_it():
    layouts = PayloadLayouts(StreamNumbers(SeriesTable()))
    layouts.learn(encode.metrics_request(groups(host="gpu-00")))
    first = layouts.nbytes
    layouts.learn(encode.metrics_request(groups(host="gpu-01")))
    assert layouts.nbytes - first < first / 3


def test_one_sender_cannot_fill_the_memory_with_layouts_of_one_length():
    layouts = PayloadLayouts(StreamNumbers(SeriesTable()))
    for number in range(100):
        samples = [Sample("training.loss", 1.0, 1.79e9, (("seq", 1000 + number),))]
        layouts.learn(encode.metrics_request([(TelemetryResource("h"), samples)]))
    assert len(layouts) <= 10


def test_of_a_sender_that_never_repeats_itself_few_layouts_are_remembered():
    """What is remembered costs more than decoding; a sender that turns steady is noticed."""
    layouts = PayloadLayouts(StreamNumbers(SeriesTable()))
    for number in range(200):
        layouts.learn(encode.metrics_request(groups(points=1 + number, ranks=1)))
    assert len(layouts) < 50
    body = encode.metrics_request(groups(points=3, ranks=7))
    for _ in range(20):
        if layouts.decode(body) is None:
            layouts.learn(body)
    assert layouts.decode(body) is not None


@given(USUAL, st.data())
@settings(max_examples=examples(60))
def test_an_undecodable_request_leaves_no_trace(parts, data):
    """Nothing of it is learnt, so that who sends garbage cannot fill what others share."""
    body = build(parts).SerializeToString()
    at = data.draw(st.integers(0, len(body) - 1))
    damaged = body[:at] + bytes((data.draw(st.integers(0, 255)),)) + body[at + 1 :]
    table = SeriesTable()
    streams = StreamNumbers(table)
    decoder = MetricsDecoder(table)
    with contextlib.suppress(UnusualError, UndecodableError):
        PayloadLayouts(streams).learn(damaged)
    try:
        decoder.general(damaged)
    except UndecodableError:
        assert (streams.size, len(table.resources), table.metrics) == (0, 0, [])
        assert (len(table), len(table.attributes), table.attributes.pairs) == (0, 0, [])


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
    streams = StreamNumbers(table, limit=10)
    layouts = PayloadLayouts(streams)
    for number in range(50):
        streams.trim()
        layouts.learn(encode.metrics_request(groups(host=f"h{number}")))
        assert streams.size <= 20
    streams.trim()
    layouts.learn(encode.metrics_request(groups(host="h0")))
    assert len(table) == 50 * 4
