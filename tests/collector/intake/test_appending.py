"""The intake's two threads: one writes, the other decodes what is large."""

import threading

import pytest

from rankscope.collector.intake.appending import IntakeThread
from rankscope.collector.intake.decoding import DecoderPool
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.intake.tail import IntakeTail
from rankscope.collector.intake.turns import is_large
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.errors import UndecodableError

KIND = PayloadKind.LOGS_PROTOBUF
ANSWER_SECONDS = 60.0


class HeldDecoders:
    """Decodes large payloads once it is let go."""

    def __init__(self):
        self.begun, self.let_go = threading.Event(), threading.Event()
        self.pool = DecoderPool(SeriesTable)

    def apart(self):
        return self

    def decode(self, payload):
        if is_large(payload):
            self.begun.set()
            assert self.let_go.wait(ANSWER_SECONDS)
        return self.pool.decode(payload)


@pytest.fixture
def large_body(logs_body):
    return logs_body(*["log.fault"] * 2_000)


@pytest.fixture
def new_intake(memory_journal, clock, health):
    def make(decoders):
        return IntakeThread(
            journal=memory_journal,
            decoders=decoders,
            tail=IntakeTail(),
            clock=clock,
            health=health,
        )

    return make


def test_a_small_payload_is_acknowledged_while_a_large_one_of_another_is_decoded(
    new_intake, memory_journal, large_body, logs_body
):
    decoders = HeldDecoders()
    intake = new_intake(decoders)
    intake.start()
    try:
        large = intake.submit(Payload(KIND, large_body, connection="a"))
        assert decoders.begun.wait(ANSWER_SECONDS)
        small = intake.submit(Payload(KIND, logs_body("log.fault"), connection="b"))
        assert 1 == small.result(ANSWER_SECONDS).accepted
        assert not large.done()
        assert 1 == len(memory_journal.entries)
        decoders.let_go.set()
        assert 2_000 == large.result(ANSWER_SECONDS).accepted
        assert large_body == memory_journal.entries[-1].body
    finally:
        decoders.let_go.set()
        intake.stop()


def test_what_a_sender_sends_behind_its_large_payload_is_kept_behind_it(
    new_intake, memory_journal, large_body, logs_body
):
    intake = new_intake(DecoderPool(SeriesTable))
    intake.start()
    bodies = [logs_body("log.fault"), large_body, logs_body("log.line"), large_body + large_body]
    try:
        done = [intake.submit(Payload(KIND, body, connection="a")) for body in bodies]
        for one in done:
            one.result(ANSWER_SECONDS)
    finally:
        intake.stop()
    assert bodies == [entry.body for entry in memory_journal.entries]
    times = [entry.at_ns for entry in memory_journal.entries]
    assert sorted(set(times)) == times


def test_a_stop_writes_large_payloads_that_wait_and_answers_them(
    new_intake, memory_journal, large_body
):
    decoders = HeldDecoders()
    intake = new_intake(decoders)
    intake.start()
    done = [intake.submit(Payload(KIND, large_body, connection=name)) for name in "abc"]
    assert decoders.begun.wait(ANSWER_SECONDS)
    decoders.let_go.set()
    intake.stop()
    assert [2_000] * 3 == [one.result(0).accepted for one in done]
    assert 3 == len(memory_journal.entries)


def test_a_large_payload_that_cannot_be_read_is_answered_as_such_and_holds_up_nobody(
    new_intake, memory_journal, large_body, logs_body
):
    intake = new_intake(DecoderPool(SeriesTable))
    intake.open()
    bad = intake.submit(Payload(KIND, b"\xff" * len(large_body), connection="a"))
    good = intake.submit(Payload(KIND, logs_body("log.fault"), connection="a"))
    intake.step()
    with pytest.raises(UndecodableError):
        bad.result(0)
    assert 1 == good.result(0).accepted
    assert 1 == len(memory_journal.entries)
