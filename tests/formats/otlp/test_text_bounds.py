"""Texts and names that are longer than is taken: what stands for them, alike however they came."""

from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder, logs_json, logs_protobuf
from rankscope.formats.otlp.series import SeriesTable
from rankscope.formats.otlp.text_bounds import TextBounds
from rankscope.vocabulary import operations
from rankscope.vocabulary.samples import Event, Sample, Scalar, TelemetryResource

SMALL = TextBounds(text_bytes=256, name_bytes=64)


@given(st.text(max_size=400))
def test_what_is_taken_is_within_the_bound_and_is_taken_again_as_it_is(text):
    cut, name = SMALL.text(text), SMALL.name(text)
    assert len(str(cut).encode(errors="replace")) <= 256
    assert text.startswith(str(cut))
    assert len(name.encode(errors="replace")) <= 64
    assert (cut, name) == (SMALL.text(cut), SMALL.name(name))


@given(st.text(min_size=65, max_size=90), st.text(min_size=65, max_size=90))
def test_two_long_names_stay_two(one, other):
    assert (one == other) == (SMALL.name(one) == SMALL.name(other))


def test_the_beginning_of_a_long_text_is_taken_and_the_sender_is_told():
    texts: dict[str, Scalar] = {"text": "x" * 300, "rank": 3, "role": "root"}
    resource = TelemetryResource("h" * 100, "job", 0)
    groups = [
        (resource, [Event("log.fault", 10.0, texts), Event("log.fault", 11.0, {"text": "short"})])
    ]
    for batch in (
        logs_protobuf(encode.logs_request(groups), SMALL),
        logs_json(encode.logs_json(groups), SMALL),
    ):
        assert {"text": "x" * 256, "rank": 3, "role": "root"} == batch.events[0].attributes
        assert {"text": "short"} == batch.events[1].attributes
        assert SMALL.name("h" * 100) == batch.events[0].resource.host
        assert (0, 1, "texts cut to 256 bytes: 1") == (batch.rejected, batch.cut, batch.reason)


def test_single_operations_are_taken_whole():
    each = operations.MemberOperation("all_reduce", 1 << 40, 1 << 40, 1.7e9 / 3, 1.7e9 / 7, 0.1 / 3)
    text = operations.encode([each] * operations.MOST)
    assert len(text) > 8 << 10
    event = Event(operations.EVENT, 10.0, {"text": text})
    (taken,) = logs_protobuf(encode.logs_request([(TelemetryResource("h"), [event])])).events
    assert text == taken.attributes["text"]


def test_long_names_of_series_are_bounded_and_the_ranks_of_a_group_are_not_names():
    ranks = ",".join(map(str, range(1000)))
    pairs = (("group", "g" * 600), ("ranks", ranks))
    samples = [Sample("collective.group.info", 1.0, 10.0, pairs), Sample("m" * 600, 1.0, 10.0)]
    groups = [(TelemetryResource("h", "j" * 1_000_000, 0), samples)]
    keys = []
    for form in ("protobuf", "json"):
        table = SeriesTable(bounds=TextBounds())
        decoder = MetricsDecoder(table)
        if form == "protobuf":
            batch = decoder.protobuf(encode.metrics_request(groups))
        else:
            batch = decoder.json(encode.metrics_json(groups))
        keys.append([table[series] for series in batch.columns.series.tolist()])
        assert table.shortened > 0
    assert keys[0] == keys[1]
    first, second = keys[0]
    assert 512 == len(first.resource.job or "")
    assert 512 == len(second.metric)
    assert ranks == dict(first.attributes)["ranks"]
    assert 512 == len(str(dict(first.attributes)["group"]))


def test_of_very_many_attributes_the_first_are_taken():
    many = {f"key-{number:03}": number for number in range(100)}
    resource = TelemetryResource("h", extra=tuple(sorted(many.items())))
    body = encode.logs_request([(resource, [Event("log.fault", 10.0, many)])])
    batch = logs_protobuf(body)
    (event,) = batch.events
    assert [f"key-{number:03}" for number in range(64)] == list(event.attributes)
    assert 64 == len(event.resource.extra)
    assert 1 == batch.cut
