"""What is written in OTLP is read back as it was, in both encodings."""

import math
import struct
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder, logs_json, logs_protobuf
from rankscope.vocabulary import metrics
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False)
PAIRS = st.dictionaries(TEXTS, SCALARS, max_size=3)
TIMES = st.floats(min_value=1e9, max_value=4e9)
"""From 2001 on every time comes back to the last bit; nearer to 1970 they have more bits."""
NAMES = st.sampled_from([*metrics.catalogue(), "other.metric"])

OWN = ("host.name", "service.name", "k8s.node.name", "service.instance.id")
RESOURCES = st.builds(
    TelemetryResource,
    host=TEXTS,
    job=st.none() | TEXTS.filter(bool),
    attempt=st.integers(0, 9),
    cluster=st.none() | TEXTS.filter(bool),
    service=TEXTS,
    extra=st.dictionaries(TEXTS.filter(lambda name: name not in OWN), TEXTS).map(attributes),
)
SAMPLES = st.builds(
    Sample, metric=NAMES, value=st.floats(), at=TIMES, attributes=PAIRS.map(attributes)
)
GROUPS = st.lists(st.tuples(RESOURCES, st.lists(SAMPLES, max_size=6)), max_size=3)
EVENTS = st.lists(
    st.tuples(
        RESOURCES,
        st.lists(
            st.builds(
                Event,
                name=TEXTS.filter(bool),
                at=TIMES,
                attributes=PAIRS.map(lambda pairs: pairs),
            ),
            max_size=4,
        ),
    ),
    max_size=3,
)


def bits(value):
    """Return a float as its 8 bytes, and NaN as one NaN: JSON has no other."""
    return "NaN" if math.isnan(value) else struct.pack("<d", value)


def by_series(groups):
    """Return (at, value) lists by series; the order within a series is what a request keeps."""
    found = defaultdict(list)
    for resource, samples in groups:
        for sample in samples:
            key = repr((resource, sample.metric, sample.attributes))
            found[key].append((sample.at, bits(sample.value)))
    return found


def read_back(batch, table):
    columns = batch.columns
    found = defaultdict(list)
    for series, at, value in zip(columns.series, columns.at, columns.value, strict=True):
        one = table[series]
        found[repr((one.resource, one.metric, one.attributes))].append((at, bits(value)))
    return found


@given(GROUPS)
def test_samples_come_back_from_protobuf(groups):
    table = SeriesTable()
    batch = MetricsDecoder(table).protobuf(encode.metrics_request(groups))
    assert (batch.rejected, batch.reason) == (0, "")
    assert read_back(batch, table) == by_series(groups)


@given(GROUPS)
def test_samples_come_back_from_json(groups):
    table = SeriesTable()
    line = encode.metrics_json(groups)
    assert "\n" not in line
    batch = MetricsDecoder(table).json(line)
    assert (batch.rejected, batch.reason) == (0, "")
    assert read_back(batch, table) == by_series(groups)


@given(GROUPS)
def test_both_encodings_say_the_same(groups):
    decoder = MetricsDecoder(SeriesTable())
    ours = decoder.protobuf(encode.metrics_request(groups)).columns
    theirs = decoder.json(encode.metrics_json(groups)).columns
    assert ours.series.tolist() == theirs.series.tolist()
    assert ours.at.tolist() == theirs.at.tolist()
    assert [bits(value) for value in ours.value] == [bits(value) for value in theirs.value]


def in_order(groups):
    """Return the events with their resources, in the order in which a request holds them."""
    of_resource = defaultdict(list)
    for resource, events in groups:
        of_resource[resource].extend(events)
    return [
        repr((resource, event.name, event.at, dict(event.attributes)))
        for resource, events in of_resource.items()
        for event in events
    ]


@pytest.mark.parametrize(
    ("write", "read"),
    [(encode.logs_request, logs_protobuf), (encode.logs_json, logs_json)],
    ids=["protobuf", "json"],
)
@given(groups=EVENTS)
def test_events_come_back(groups, write, read):
    groups = [
        (resource, [event for event in events if "event.name" not in event.attributes])
        for resource, events in groups
    ]
    batch = read(write(groups))
    assert (batch.rejected, batch.reason) == (0, "")
    assert [
        repr((event.resource, event.name, event.at, event.attributes)) for event in batch.events
    ] == in_order(groups)


@given(st.floats(min_value=1e9, max_value=4e9))
def test_a_time_comes_back_to_the_last_bit(at):
    sample = Sample("training.loss", 1.0, at)
    decoder = MetricsDecoder(SeriesTable())
    groups = [(TelemetryResource("h"), [sample])]
    assert decoder.protobuf(encode.metrics_request(groups)).columns.at.tolist() == [at]
    assert decoder.json(encode.metrics_json(groups)).columns.at.tolist() == [at]
