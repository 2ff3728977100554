"""The engine: acknowledged means kept, and one order of evaluating and applying."""

import errno

import pytest

from rankscope.collector.intake.payloads import Payload
from rankscope.collector.intake.waiting import BusyError, UnavailableError
from rankscope.collector.journal.kinds import Kind
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.errors import UndecodableError


@pytest.fixture(autouse=True)
def running(engine):
    """Take payloads without a thread: the tests are the thread."""
    engine.recover()


def test_a_payload_is_answered_after_it_is_in_the_journal(engine, memory_journal, metrics_body):
    future = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0, 2.0)))
    assert not future.done()
    engine.step()
    assert future.result(0).accepted == 2
    assert [entry.kind for entry in memory_journal.entries] == [Kind.METRICS_PROTOBUF]


def test_a_payload_the_journal_cannot_take_is_neither_acknowledged_nor_applied(
    engine, memory_journal, pipeline, metrics_body
):
    memory_journal.failure = OSError(errno.ENOSPC, "No space left on device")
    future = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    with pytest.raises(UnavailableError, match="No space left"):
        future.result(0)
    assert pipeline.calls == []

    memory_journal.failure = None
    again = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    assert again.result(0).accepted == 1


def test_garbage_is_answered_as_such_and_does_not_hold_up_its_neighbours(
    engine, memory_journal, metrics_body
):
    bad = engine.submit(Payload(Kind.METRICS_PROTOBUF, b"\xff\xff\xff"))
    good = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    with pytest.raises(UndecodableError):
        bad.result(0)
    assert good.result(0).accepted == 1
    assert len(memory_journal.entries) == 1


def test_an_empty_request_succeeds_and_is_not_worth_an_entry(engine, memory_journal):
    future = engine.submit(Payload(Kind.METRICS_PROTOBUF, b""))
    engine.step()
    assert (future.result(0).accepted, future.result(0).rejected) == (0, 0)
    assert memory_journal.entries == []


def test_a_full_queue_says_busy_and_takes_again_once_it_is_drained(new_engine, metrics_body):
    body = metrics_body(1.0)
    engine = new_engine(queue_bytes=len(body) + 1)
    engine.recover()
    engine.submit(Payload(Kind.METRICS_PROTOBUF, body))
    with pytest.raises(BusyError):
        engine.submit(Payload(Kind.METRICS_PROTOBUF, body))
    engine.step()
    engine.submit(Payload(Kind.METRICS_PROTOBUF, body))


def test_one_payload_larger_than_the_queue_still_goes_through_alone(new_engine, metrics_body):
    engine = new_engine(queue_bytes=1)
    engine.recover()
    future = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    assert future.result(0).accepted == 1


def test_a_sender_that_went_away_while_waiting_leaves_no_trace(
    engine, memory_journal, metrics_body
):
    future = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    future.cancel()
    engine.step()
    assert memory_journal.entries == []


def test_receive_times_never_go_back_when_the_clock_does(
    engine, memory_journal, clock, metrics_body
):
    for step in (0.0, -30.0, 0.5):
        clock.at += step
        engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
        engine.step()
    times = [entry.at_ns for entry in memory_journal.entries]
    assert times == sorted(times)


def test_seconds_are_judged_before_what_came_after_them_is_applied(
    engine, pipeline, clock, metrics_body
):
    engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    clock.at = 1_700_000_002.5
    engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(2.0)))
    engine.step()
    assert [(call[0], call[1]) for call in pipeline.calls] == [
        ("metrics", 1_700_000_000.25),
        ("judge", 1_700_000_001.0),
        ("judge", 1_700_000_002.0),
        ("metrics", 1_700_000_002.5),
    ]


def test_every_second_is_judged_when_nothing_arrives(engine, pipeline, clock, metrics_body):
    engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    for _ in range(4):
        clock.at += 0.5
        engine.step()
    assert [call for call in pipeline.calls if call[0] == "judge"] == [
        ("judge", 1_700_000_001.0),
        ("judge", 1_700_000_002.0),
    ]


def test_nothing_is_judged_before_anything_was_heard(engine, pipeline, clock):
    clock.at += 100
    engine.step()
    assert pipeline.calls == []


def test_a_night_of_silence_is_not_judged_second_by_second(engine, pipeline, clock, metrics_body):
    engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    clock.at += 12 * 3600
    engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    evaluated = [call for call in pipeline.calls if call[0] == "judge"]
    assert len(evaluated) == 900
    assert pipeline.calls[-1][0] == "metrics"


def test_a_defect_of_the_pipeline_is_counted_and_the_next_payload_goes_on(
    engine, pipeline, health, metrics_body
):
    pipeline.raises = ZeroDivisionError("a defect")
    first = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    assert first.result(0).accepted == 1
    assert health.pipeline_failures.labels("metrics")._value.get() == 1
    pipeline.raises = None
    second = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    assert second.result(0).accepted == 1


def test_changes_the_store_could_not_take_are_handed_over_again_in_order(
    engine, sink, clock, metrics_body, health
):
    engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    sink.failure = RuntimeError("database is locked")
    clock.at += 2
    engine.step()
    assert sink.committed == []
    assert health.store_failures._value.get() == 1
    sink.failure = None
    engine.step()
    assert [now for _, now in sink.committed] == [1_700_000_001.0, 1_700_000_002.0]


def test_after_a_restart_the_pipeline_gets_the_very_same_calls(
    engine, pipeline, clock, new_engine, metrics_body
):
    for _ in range(5):
        engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(clock.at)))
        engine.step()
        clock.at += 0.7
    engine.stop()
    calls, pipeline.calls = pipeline.calls, []
    pipeline.table = SeriesTable()
    new_engine().recover()
    assert pipeline.calls == calls


def test_a_clean_stop_notes_how_far_judgement_came(engine, memory_journal, clock, metrics_body):
    engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    clock.at += 7
    engine.step()
    engine.stop()
    assert memory_journal.closed
    last = memory_journal.entries[-1]
    assert (last.kind, int(last.at)) == (Kind.STOP, 1_700_000_007)


def test_a_defect_of_the_journal_leaves_no_sender_without_an_answer(
    engine, memory_journal, monkeypatch, metrics_body
):
    def broken(_entries):
        raise RuntimeError("a defect")

    monkeypatch.setattr(memory_journal, "write", broken)
    future = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    with pytest.raises(RuntimeError):
        engine.step()
    with pytest.raises(UnavailableError):
        future.result(0)
    monkeypatch.undo()
    again = engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    assert again.result(0).accepted == 1


def test_a_question_sees_the_pipeline_between_two_changes(engine, pipeline, metrics_body):
    engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))
    engine.step()
    assert engine.read(lambda seen: len(seen.calls)) == 1


def test_nothing_is_taken_before_the_start_and_after_the_stop(engine, metrics_body):
    engine.stop()
    with pytest.raises(UnavailableError):
        engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(1.0)))


def test_the_thread_answers_what_was_taken_before_it_stops(
    new_engine, memory_journal, metrics_body
):
    engine = new_engine()
    engine.start()
    engine.wait_ready()
    futures = [
        engine.submit(Payload(Kind.METRICS_PROTOBUF, metrics_body(float(n)))) for n in range(50)
    ]
    engine.stop()
    assert [future.result(0).accepted for future in futures] == [1] * 50
    assert len([entry for entry in memory_journal.entries if entry.kind is not Kind.STOP]) == 50
