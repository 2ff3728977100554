"""Prometheus remote write 1.0, read in the vocabulary's names."""

import struct

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import told

from rankscope.formats import wire
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.errors import OversizedError, UndecodableError
from rankscope.formats.remote_write import RemoteWriteDecoder, decode
from rankscope.vocabulary import metrics
from rankscope.vocabulary.samples import TelemetryResource

AT_MS = 1_790_000_000_125
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0_0000_0000_0002))[0]


def label(name, text):
    return wire.block(1, wire.block(1, name.encode()) + wire.block(2, text.encode()))


def sample(value, at_ms=AT_MS):
    """Return a sample as Go's protobuf writes it: zeros left out."""
    written = b"\x09" + struct.pack("<d", value) if value else b""
    return wire.block(2, written + (b"\x10" + wire.signed(at_ms) if at_ms else b""))


def series(*samples, **labels):
    names = sorted(labels.items())
    return wire.block(1, b"".join(label(*pair) for pair in names) + b"".join(samples))


def snappy(plain):
    return bytes(cramjam.snappy.compress_raw(plain))


def read(*parts):
    table = SeriesTable()
    return decode(snappy(b"".join(parts)), table), table


def one(**labels):
    batch, table = read(series(sample(2.5), __name__="training_loss", **labels))
    assert batch.columns.at.tolist() == [1_790_000_000.125]
    assert batch.columns.value.tolist() == [2.5]
    return table[0]


def test_the_agents_own_series_come_back_in_the_contracts_names():
    batch, table = read(
        series(
            sample(7.0),
            __name__="hw_energy_joules_total",
            host_name="gpu-12",
            job_id="run 1",
            cluster="a",
            hw_id="GPU-1",
            rank="3",
            instance="10.0.0.1:9470",
            job="rankscope-agents",
        )
    )
    extra = (("service.instance.id", "10.0.0.1:9470"),)
    expected = TelemetryResource("gpu-12", "run 1", None, "a", "rankscope-agents", extra)
    assert expected == table[0].resource
    assert table[0].metric == "hw.energy"
    assert table[0].attributes == (("hw.id", "GPU-1"), ("rank", 3))
    assert (batch.rejected, batch.reason) == (0, "")


def test_every_metric_and_attribute_of_the_catalogue_finds_back():
    for metric in metrics.catalogue().values():
        with told(metric=metric.name):
            names = (*metric.attributes, *metric.optional)
            labels = {name.replace(".", "_"): "x" for name in names}
            _, table = read(series(sample(1.0), __name__=metric.prometheus_name, **labels))
            assert table[0].metric == metric.name
            assert [name for name, _ in table[0].attributes] == sorted(names)


def test_what_nobody_knows_is_taken_and_left_out():
    """A Prometheus that sends everything fills no table with what no detector looks at."""
    batch, table = read(series(sample(1.0), __name__="node_load1", my_label="x"))
    assert (len(batch.columns), len(table), batch.rejected) == (0, 0, 0)
    assert batch.written == 1


def test_labels_that_are_not_of_the_contract_stay():
    _, table = read(series(sample(1.0), __name__="training_loss", my_label="x"))
    assert table[0].attributes == (("my_label", "x"),)


@pytest.mark.parametrize(
    ("labels", "host"),
    [
        ({"host_name": "a", "host": "b", "instance": "c:1"}, "a"),
        ({"host": "b", "instance": "c:1"}, "b"),
        ({"k8s_node_name": "n", "instance": "c:1"}, "n"),
        ({"instance": "c:1"}, "c"),
        ({"instance": "[::1]:9470"}, "::1"),
        ({"instance": "c"}, "c"),
        ({}, ""),
    ],
)
def test_the_host_is_the_best_label_at_hand(labels, host):
    assert one(**labels).resource.host == host


def test_the_attempt_is_a_number():
    assert one(job_id="j", attempt="2").resource.attempt == 2


@pytest.mark.parametrize("text", ["x", "-1", "1.0", "²", "9" * 30])
def test_a_rank_that_is_no_number_stays_text(text):
    assert one(rank=text).attributes == (("rank", text),)


def test_an_empty_label_is_an_absent_one():
    assert one(rank="").attributes == ()


def test_zero_is_a_value_though_it_is_not_written():
    batch, _ = read(series(sample(0.0), sample(1.0), sample(0.0), __name__="training_loss"))
    assert batch.columns.value.tolist() == [0.0, 1.0, 0.0]


def test_the_end_of_a_series_is_no_sample_and_other_nans_are():
    batch, _ = read(series(sample(STALE), sample(float("nan")), __name__="training_loss"))
    assert (len(batch.columns), batch.rejected) == (1, 0)


def test_what_cannot_be_kept_is_counted():
    histogram = wire.block(4, b"")
    batch, _ = read(
        series(sample(1.0, 0), sample(1.0, -5), sample(1.0), __name__="training_loss"),
        series(sample(1.0), rank="1"),
        series(histogram, __name__="training_loss", rank="7"),
    )
    assert len(batch.columns) == 1
    assert batch.rejected == 4
    assert batch.reason == (
        "samples of native histograms: 1; samples without a metric name: 1; "
        "samples without a time: 2"
    )


def test_a_full_table_is_said_and_known_series_live_on():
    table = SeriesTable(capacity=1)
    decoder = RemoteWriteDecoder(table)
    both = series(sample(1.0), __name__="training_loss") + series(
        sample(2.0), __name__="training_step"
    )
    for _ in range(2):
        batch = decoder.plain(both)
        assert batch.columns.value.tolist() == [1.0]
        assert batch.reason == "samples of new series while the series table is full: 1"


def test_labels_after_samples_and_unknown_fields_are_understood():
    mixed = sample(1.0) + label("__name__", "training_loss") + wire.block(9, b"x") + label("a", "b")
    batch, table = read(wire.block(1, mixed), wire.block(3, b"metadata"))
    assert (table[0].metric, table[0].attributes) == ("training.loss", (("a", "b"),))
    assert len(batch.columns) == 1


def test_series_are_forgotten_beyond_the_bound_and_keep_their_ids():
    table = SeriesTable()
    decoder = RemoteWriteDecoder(table, limit=3)
    for _ in range(3):
        for number in range(10):
            batch = decoder.plain(series(sample(1.0), __name__="training_loss", rank=str(number)))
            assert batch.columns.series.tolist() == [number]


def test_a_bomb_is_refused_before_it_is_decompressed():
    with pytest.raises(OversizedError, match="5000000 bytes decompressed, more than the 1000000"):
        decode(snappy(bytes(5_000_000)), SeriesTable(), limit=1_000_000)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xff\xff\xff\xff\xff\xff",
        b"\x05abc",
        snappy(b"\x0a\x05ab"),
        snappy(wire.block(1, b"\x0a\x05ab")),
        snappy(wire.block(1, label("__name__", "m") + b"\x12\x10\x09")),
        snappy(wire.block(1, wire.block(1, wire.block(1, b"\xff")) + sample(1.0))),
    ],
)
def test_garbage_is_refused(body):
    with pytest.raises(UndecodableError):
        decode(body, SeriesTable())


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from(["a", "rank", "hw_id"]), st.text(max_size=4)),
            st.lists(st.tuples(st.floats(), st.integers(1, 2**62)), max_size=3),
        ),
        max_size=4,
    ),
    st.data(),
)
def test_every_request_comes_back_and_every_damaged_one_is_answered(parts, data):
    written = b"".join(
        series(*(sample(*pair) for pair in samples), __name__="training_loss", **labels)
        for labels, samples in parts
    )
    decoder = RemoteWriteDecoder(SeriesTable())
    columns = decoder.plain(written).columns
    expected = [pair for _, samples in parts for pair in samples]
    assert [struct.pack("<d", value) for value in columns.value] == [
        struct.pack("<d", value + 0.0 if value == 0 else value) for value, _ in expected
    ]
    assert columns.at.tolist() == [at_ms / 1000.0 for _, at_ms in expected]
    if written:
        at = data.draw(st.integers(0, len(written) - 1))
        byte = data.draw(st.integers(0, 255))
        for damaged in (written[:at], written[:at] + bytes((byte,)) + written[at + 1 :]):
            try:
                decoder.plain(damaged)
            except UndecodableError:
                continue


def test_labels_in_any_order_are_one_series_also_for_a_decoder_that_knows_it():
    labels = [("__name__", "training_loss"), ("host_name", "gpu-1"), ("job_id", "a"), ("rank", "3")]
    table = SeriesTable()
    decoder = RemoteWriteDecoder(table)
    for order in (labels, labels[::-1], [*labels[2:], *labels[:2]]):
        body = b"".join(label(*pair) for pair in order) + sample(2.5)
        batch = decoder.plain(wire.block(1, body))
        described = [table[number] for number in batch.columns.series.tolist()]
        assert [(one.metric, one.resource, one.attributes) for one in described] == [
            ("training.loss", TelemetryResource("gpu-1", "a", None), (("rank", 3),))
        ]


def test_samples_of_one_time_come_through_in_their_order_whatever_follows_judges_them():
    batch, _ = read(
        series(sample(1.0), sample(2.0), __name__="training_loss", rank="3"),
        series(sample(2.0), __name__="training_loss", rank="3"),
    )
    assert batch.columns.value.tolist() == [1.0, 2.0, 2.0]
    assert len(set(batch.columns.series.tolist())) == 1
    assert (batch.rejected, batch.reason) == (0, "")
