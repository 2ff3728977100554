"""Permits: whom a payload is about counts, whether or not anything of it is kept."""

from collections.abc import Callable, Mapping
from functools import partial

import pytest

from rankscope.collector.intake.decoding import DecoderPool
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.intake.permits import NotPermittedError
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import UNKEPT
from rankscope.formats import wire
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.formats.remote_write.encode import WriteRequest, encoded_labels
from rankscope.vocabulary import metrics
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

AT = 1_700_000_000.0
UNKEPT_METRIC = "collective.op.duration"


def points(write, *parts):
    """Return a request of OTLP with one point of each (job, metric)."""
    groups = [
        (TelemetryResource("gpu-1", job), [Sample(metric, 1.0, AT, attributes({"rank": 0}))])
        for job, metric in parts
    ]
    written = write(groups)
    return written if isinstance(written, bytes) else written.encode()


def labels_of(job, metric):
    known = metrics.catalogue().get(metric)
    name = metric.replace(".", "_") if known is None else known.prometheus_name
    found = {"__name__": name, "host_name": "gpu-1", "rank": "0"}
    return found if job is None else {**found, "job_id": job}


def write_request(*parts):
    """Return a WriteRequest with one sample of each (job, metric)."""
    request = WriteRequest()
    for part in parts:
        request.add(encoded_labels(labels_of(*part)), int(AT * 1000), 1.0)
    return request.body()


def write_request2(*parts, histogram=False):
    symbols, series = [""], b""
    for part in parts:
        texts = [text for pair in labels_of(*part).items() for text in pair]
        refs = bytes(range(len(symbols), len(symbols) + len(texts)))
        symbols += texts
        sample = wire.tag(2, wire.VARINT) + wire.signed(int(AT * 1000))
        last = wire.block(3, b"") if histogram else wire.block(2, sample)
        series += wire.block(5, wire.block(1, refs) + last)
    return b"".join(wire.block(4, text.encode()) for text in symbols) + series


def records(write, *parts):
    """Return a request with one record of each (job, event name)."""
    resources = [(TelemetryResource("gpu-1", job), name) for job, name in parts]
    written = write([(one, [Event(name, AT, {"rank": 0}, one)]) for one, name in resources])
    return written if isinstance(written, bytes) else written.encode()


DOORS: Mapping[PayloadKind, Callable[..., bytes]] = {
    PayloadKind.METRICS_PROTOBUF: partial(points, encode.metrics_request),
    PayloadKind.METRICS_JSON: partial(points, encode.metrics_json),
    PayloadKind.REMOTE_WRITE: write_request,
    PayloadKind.REMOTE_WRITE_2: write_request2,
    PayloadKind.LOGS_PROTOBUF: partial(records, encode.logs_request),
    PayloadKind.LOGS_JSON: partial(records, encode.logs_json),
}
LOGS = (PayloadKind.LOGS_PROTOBUF, PayloadKind.LOGS_JSON)


@pytest.fixture(params=DOORS, ids=lambda kind: kind.name.lower())
def door(request):
    """Return a function that sends parts by one door, for a token of jobs `a-*`."""
    decoders = DecoderPool(lambda: SeriesTable(unkept=UNKEPT))
    unkept = "" if request.param in LOGS else UNKEPT_METRIC

    def send(*parts):
        told = [(job, unkept if name == "unkept" else "training.step") for job, name in parts]
        return decoders.decode(Payload(request.param, DOORS[request.param](*told), ("a-*",)))

    return send


@pytest.mark.parametrize("before", [(), (("a-1", "kept"),)], ids=["alone", "beside ours"])
@pytest.mark.parametrize("job", ["b-1", None])
def test_of_a_foreign_job_nothing_is_taken_that_would_not_be_kept_either(door, before, job):
    with pytest.raises(NotPermittedError):
        door(*before, (job, "unkept"))
    with pytest.raises(NotPermittedError):
        door((job, "unkept"), *before)


def test_of_ones_own_jobs_what_is_not_kept_is_no_offence(door):
    assert 0 == door(("a-1", "unkept")).accepted
    assert 1 == door(("a-2", "unkept"), ("a-1", "kept")).accepted


@pytest.mark.parametrize("write", [write_request, write_request2])
def test_a_series_of_no_known_metric_is_of_the_job_that_its_labels_name(write):
    kind = next(kind for kind, door in DOORS.items() if door is write)
    decoders = DecoderPool(lambda: SeriesTable(unkept=UNKEPT))
    with pytest.raises(NotPermittedError):
        decoders.decode(Payload(kind, write(("b-1", "something.else")), ("a-*",)))
    decoders.decode(Payload(kind, write((None, "something.else")), ("a-*",)))


def test_a_native_histogram_is_of_somebody_too():
    labels = encoded_labels(labels_of("b-1", "training.step"))
    decoders = DecoderPool(lambda: SeriesTable(unkept=UNKEPT))
    first = wire.block(1, labels + wire.block(4, b""))
    second = write_request2(("b-1", "training.step"), histogram=True)
    for kind, body in ((PayloadKind.REMOTE_WRITE, first), (PayloadKind.REMOTE_WRITE_2, second)):
        with pytest.raises(NotPermittedError):
            decoders.decode(Payload(kind, body, ("a-*",)))


def test_a_layout_that_repeats_names_the_same_as_the_general_path():
    table = SeriesTable(unkept=UNKEPT)
    decoder = MetricsDecoder(table)
    body = points(encode.metrics_request, ("a-1", "training.step"), ("b-1", UNKEPT_METRIC))
    found = [decoder.protobuf(body), decoder.protobuf(body), decoder.general(body)]
    assert found[1].layout is not None
    jobs = [{table.resources[number].job for number in one.resources} for one in found]
    assert 3 * [{"a-1", "b-1"}] == jobs


def test_a_table_that_is_full_hides_nobody():
    table = partial(SeriesTable, 1)
    decoders = DecoderPool(table, room=lambda: False)
    send = DOORS[PayloadKind.METRICS_PROTOBUF]
    kind = PayloadKind.METRICS_PROTOBUF
    assert 1 == decoders.decode(Payload(kind, send(("a-1", "training.step")), ("a-*",))).accepted
    again = decoders.decode(Payload(kind, send(("a-2", "training.step")), ("a-*",)))
    assert (0, 1) == (again.accepted, again.rejected)
    with pytest.raises(NotPermittedError):
        decoders.decode(Payload(kind, send(("b-1", "training.step")), ("a-*",)))
