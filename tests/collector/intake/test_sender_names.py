"""Jobs and hosts that one sender names: so many, and no others suffer for it."""

import pytest

from rankscope.collector.intake.decoding import DecoderPool
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.intake.sender_names import GENERATION_SECONDS, SenderNames
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource


class SetTime:
    def __init__(self):
        self.at = 0.0

    def __call__(self):
        return self.at


@pytest.fixture
def now():
    return SetTime()


@pytest.fixture
def refused(now):
    """Return a function that says by which bound a payload is refused; 3 jobs, 5 hosts a sender."""
    names = SenderNames(jobs=3, hosts=5, now=now)
    decoders = DecoderPool(SeriesTable)

    def of(*named, logs=False, sender=()):
        resources = [TelemetryResource(host, job, 0) for job, host in named]
        if logs:
            groups = [(one, [Event("log.fault", 10.0, {"text": "x"})]) for one in resources]
            payload = Payload(PayloadKind.LOGS_PROTOBUF, encode.logs_request(groups), sender)
        else:
            samples = [Sample("training.loss", 1.0, 10.0, (("rank", 0),))]
            body = encode.metrics_request([(one, samples) for one in resources])
            payload = Payload(PayloadKind.METRICS_PROTOBUF, body, sender)
        return names.refuses(decoders.decode(payload), sender)

    return of


@pytest.mark.parametrize("logs", [False, True])
def test_a_payload_with_a_job_too_many_is_refused_and_takes_nobodys_place(refused, logs):
    assert refused(("a", "h"), ("b", "h"), logs=logs) is None
    assert "sender_jobs" == refused(("c", "h"), ("d", "h"), logs=logs)
    assert "sender_jobs" == refused(("c", "h"), ("d", "h"), logs=logs)
    assert refused(("c", "h"), logs=logs) is None
    assert "sender_jobs" == refused(("d", "h"), logs=logs)
    assert refused(("a", "h"), ("c", "h"), logs=logs) is None


def test_hosts_are_counted_likewise_and_what_has_no_job_names_none(refused):
    assert refused(*((None, f"h{n}") for n in range(5))) is None
    assert "sender_hosts" == refused((None, "h5"))
    assert refused((None, "h4"), ("a", "h3")) is None


def test_senders_do_not_take_each_others_room(refused):
    assert refused(("a", "h"), ("b", "h"), ("c", "h"), sender=("*",)) is None
    assert "sender_jobs" == refused(("d", "h"), sender=("*",))
    assert refused(("d", "h"), sender=("d*",)) is None


def test_names_of_long_ago_make_room(refused, now):
    assert refused(("a", "h"), ("b", "h"), ("c", "h")) is None
    now.at = GENERATION_SECONDS
    assert "sender_jobs" == refused(("d", "h"))
    now.at = 2 * GENERATION_SECONDS
    assert refused(("d", "h")) is None


def test_nothing_of_a_refused_payload_is_kept_and_the_sender_is_told(
    new_stages, memory_journal, health, metrics_body, logs_body
):
    stages = new_stages(names=SenderNames(jobs=10, hosts=1))
    stages.recover()

    def answer(body, kind):
        done = stages.submit(Payload(kind, body))
        stages.step()
        return done.result()

    assert 2 == answer(metrics_body(1.0, 2.0, host="a"), PayloadKind.METRICS_PROTOBUF).accepted
    kept = len(memory_journal.entries)
    for body, kind, what in (
        (metrics_body(1.0, 2.0, host="b"), PayloadKind.METRICS_PROTOBUF, "points"),
        (logs_body("log.fault", "log.fault", host="b"), PayloadKind.LOGS_PROTOBUF, "records"),
    ):
        told = answer(body, kind)
        assert (0, 2) == (told.accepted, told.rejected)
        assert f"{what} of a payload in which this sender names too many hosts: 2" == told.reason
    assert kept == len(memory_journal.entries)
    assert 4 == health.bounded.labels("sender_hosts")._value.get()
    [warning] = stages.warnings()
    assert "intake.max_hosts_of_sender" in warning
