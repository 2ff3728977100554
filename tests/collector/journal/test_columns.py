"""Requests of steady senders in the journal: smaller, and read back byte for byte."""

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.collector.journal import columns
from rankscope.collector.journal import journal as journals
from rankscope.collector.journal.columns import BodyTemplate, ColumnsError
from rankscope.collector.journal.entries import JournalEntry
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.journal.kinds import METRICS_COLUMNS, METRICS_TEMPLATE, PayloadKind
from rankscope.collector.settings.journal import JournalSettings
from rankscope.formats import segments
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary.samples import Sample, TelemetryResource

START = 1_700_000_000_000_000_000


def body(values, at=1_700_000_000.0, host="a"):
    samples = [Sample("training.loss", v, at, (("rank", n),)) for n, v in enumerate(values)]
    return encode.metrics_request([(TelemetryResource(host=host), samples)])


def entries(bodies):
    """Make entries of bodies as the engine does."""
    decoder = MetricsDecoder(SeriesTable())
    return [
        JournalEntry(PayloadKind.METRICS_PROTOBUF, START + n, one, decoder.protobuf(one).layout)
        for n, one in enumerate(bodies)
    ]


def kinds(folder):
    return [record.kind for record in segments.read(folder)]


def write(folder, some, **settings):
    journal = FileJournal(folder, JournalSettings(**settings))
    for entry in some:
        assert journal.write([entry]).failure is None
    journal.close()


def test_the_third_request_of_a_steady_sender_is_kept_as_columns(tmp_path):
    some = entries([body([1.0 + n, 2.0, 3.0], 1.7e9 + n) for n in range(5)])
    write(tmp_path, some)
    assert (
        kinds(tmp_path) == [PayloadKind.METRICS_PROTOBUF, METRICS_TEMPLATE] + [METRICS_COLUMNS] * 3
    )
    assert list(journals.read(tmp_path)) == some


def test_every_segment_can_be_read_without_those_before_it(tmp_path):
    values = [[float(n * 1000 + i) ** 1.5 for i in range(300)] for n in range(150)]
    some = entries([body(row, 1.7e9 + n) for n, row in enumerate(values)])
    write(tmp_path, some, segment_bytes=1 << 16)
    files = segments.segments(tmp_path)
    assert len(files) > 2
    assert [entry for file in files for entry in journals.read(file)] == some
    assert all(METRICS_COLUMNS in kinds(file) for file in files[:-1])


def test_senders_do_not_get_each_others_templates(tmp_path):
    some = entries(
        [body([float(n), -0.0], 1.7e9 + n, host) for n in range(4) for host in ("a", "b", "c")]
    )
    write(tmp_path, some)
    assert kinds(tmp_path).count(METRICS_TEMPLATE) == 3
    assert list(journals.read(tmp_path)) == some


@hypothesis.settings(
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    max_examples=examples(50),
)
@given(
    rows=st.lists(
        st.tuples(st.floats(), st.floats(), st.floats(1, 4e9), st.sampled_from("ab")), max_size=20
    )
)
def test_what_is_read_back_is_what_was_written(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("journal")
    decoder = MetricsDecoder(SeriesTable())
    some = []
    for number, (first, second, at, host) in enumerate(rows):
        one = body([first, second], at, host)
        layout = decoder.protobuf(one).layout
        some.append(JournalEntry(PayloadKind.METRICS_PROTOBUF, START + number, one, layout))
    write(folder, some)
    assert list(journals.read(folder)) == some


def test_a_restart_reads_columns_back_too(tmp_path):
    some = entries([body([1.0 + n], 1.7e9 + n) for n in range(6)])
    write(tmp_path, some)
    journal = FileJournal(tmp_path, JournalSettings())
    assert [entry for entry, _ in journal.latest(60)] == some
    journal.close()


def test_beyond_their_bound_requests_are_kept_whole():
    (one,) = [entry for entry in entries([body([1.0]), body([2.0])]) if entry.layout]
    templates = columns.SegmentTemplates(max_bytes=len(one.body))
    first = templates.fresh(one.layout, one.body)
    assert first is not None
    templates.add(one.layout, first)
    assert templates.fresh(one.layout, one.body) is None


@pytest.mark.parametrize(
    "payload", [b"", b"\x01", b"\x01\0\0\0\xff\xff\xff\xff", b"\x01\0\0\0\x01\0\0\0\x10\0\0\0abc"]
)
def test_a_template_that_makes_no_sense_is_an_error(payload):
    with pytest.raises(ColumnsError):
        BodyTemplate.unpack(payload)


def test_columns_without_their_template_name_the_place(tmp_path):
    with segments.SegmentWriter(tmp_path) as writer:
        writer.append(METRICS_COLUMNS, START, b"\x01\0\0\0")
    with pytest.raises(segments.SegmentError, match="template"):
        list(journals.read(tmp_path))
