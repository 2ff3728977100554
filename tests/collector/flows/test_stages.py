"""The stages together: acknowledged means kept, one order of evaluating and applying."""

import errno

import pytest

from rankscope.collector.intake import appending
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.intake.waiting import BusyError, UnavailableError
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.errors import UndecodableError


@pytest.fixture(autouse=True)
def running(stages):
    """Take payloads without a thread: the tests are the thread."""
    stages.recover()


def test_a_payload_is_answered_after_it_is_in_the_journal(stages, memory_journal, metrics_body):
    future = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0, 2.0)))
    assert not future.done()
    stages.step()
    assert future.result(0).accepted == 2
    assert [entry.kind for entry in memory_journal.entries] == [PayloadKind.METRICS_PROTOBUF]


def test_a_payload_the_journal_cannot_take_is_neither_acknowledged_nor_applied(
    stages, memory_journal, pipeline, metrics_body
):
    memory_journal.failure = OSError(errno.ENOSPC, "No space left on device")
    future = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    with pytest.raises(UnavailableError, match="No space left"):
        future.result(0)
    assert pipeline.calls == []

    memory_journal.failure = None
    again = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    assert again.result(0).accepted == 1


def test_garbage_is_answered_as_such_and_does_not_hold_up_its_neighbours(
    stages, memory_journal, metrics_body
):
    bad = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, b"\xff\xff\xff"))
    good = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    with pytest.raises(UndecodableError):
        bad.result(0)
    assert good.result(0).accepted == 1
    assert len(memory_journal.entries) == 1


def test_an_empty_request_succeeds_and_is_not_worth_an_entry(stages, memory_journal):
    future = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, b""))
    stages.step()
    assert (future.result(0).accepted, future.result(0).rejected) == (0, 0)
    assert memory_journal.entries == []


def test_a_full_queue_says_busy_and_takes_again_once_it_is_drained(new_stages, metrics_body):
    body = metrics_body(1.0)
    stages = new_stages(queue_bytes=len(body) + 1)
    stages.recover()
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, body))
    with pytest.raises(BusyError):
        stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, body))
    stages.step()
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, body))


def test_one_payload_larger_than_the_queue_still_goes_through_alone(new_stages, metrics_body):
    stages = new_stages(queue_bytes=1)
    stages.recover()
    future = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    assert future.result(0).accepted == 1


def test_a_sender_that_went_away_while_waiting_leaves_no_trace(
    stages, memory_journal, metrics_body
):
    future = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    future.cancel()
    stages.step()
    assert memory_journal.entries == []


def test_receive_times_never_go_back_when_the_clock_does(
    stages, memory_journal, clock, metrics_body
):
    for step in (0.0, -30.0, 0.5):
        clock.at += step
        stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
        stages.step()
    times = [entry.at_ns for entry in memory_journal.entries]
    assert times == sorted(times)


def test_seconds_are_evaluated_before_what_came_after_them_is_applied(
    stages, pipeline, clock, metrics_body
):
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    clock.at = 1_700_000_002.5
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(2.0)))
    stages.step()
    assert [(call[0], call[1]) for call in pipeline.calls] == [
        ("metrics", 1_700_000_000.25),
        ("evaluate", 1_700_000_001.0),
        ("evaluate", 1_700_000_002.0),
        ("metrics", 1_700_000_002.5),
    ]


def test_every_second_is_evaluated_when_nothing_arrives(stages, pipeline, clock, metrics_body):
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    for _ in range(4):
        clock.at += 0.5
        stages.step()
    assert [call for call in pipeline.calls if call[0] == "evaluate"] == [
        ("evaluate", 1_700_000_001.0),
        ("evaluate", 1_700_000_002.0),
    ]


def test_nothing_is_evaluated_before_anything_was_heard(stages, pipeline, clock):
    clock.at += 100
    stages.step()
    assert pipeline.calls == []


def test_a_defect_of_the_pipeline_is_counted_and_the_next_payload_goes_on(
    stages, pipeline, health, metrics_body
):
    pipeline.raises = ZeroDivisionError("a defect")
    first = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    assert first.result(0).accepted == 1
    assert health.pipeline_failures.labels("metrics")._value.get() == 1
    pipeline.raises = None
    second = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    assert second.result(0).accepted == 1


def test_changes_the_store_could_not_take_are_handed_over_again_in_order(
    stages, sink, clock, metrics_body, health
):
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    sink.failure = RuntimeError("database is locked")
    clock.at += 2
    stages.step()
    assert sink.committed == []
    assert health.store_failures._value.get() == 1
    sink.failure = None
    stages.step()
    assert [now for _, now in sink.committed] == [1_700_000_001.0, 1_700_000_002.0]


def test_after_a_restart_the_pipeline_gets_the_very_same_calls(
    stages, pipeline, clock, new_stages, metrics_body
):
    for _ in range(5):
        stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(clock.at)))
        stages.step()
        clock.at += 0.7
    stages.stop()
    calls, pipeline.calls = pipeline.calls, []
    pipeline.table = SeriesTable()
    new_stages().recover()
    assert pipeline.calls == calls


def test_a_clean_stop_notes_how_far_evaluation_came(stages, memory_journal, clock, metrics_body):
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    clock.at += 7
    stages.step()
    stages.stop()
    assert memory_journal.closed
    last = memory_journal.entries[-1]
    assert (last.kind, int(last.at)) == (PayloadKind.STOP, 1_700_000_007)


def test_a_defect_of_the_journal_leaves_no_sender_without_an_answer(
    stages, memory_journal, monkeypatch, metrics_body
):
    def broken(_entries):
        raise RuntimeError("a defect")

    monkeypatch.setattr(memory_journal, "write", broken)
    future = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    with pytest.raises(RuntimeError):
        stages.step()
    with pytest.raises(UnavailableError):
        future.result(0)
    monkeypatch.undo()
    again = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    assert again.result(0).accepted == 1


def test_a_question_sees_the_pipeline_between_two_changes(stages, pipeline, metrics_body):
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    assert stages.read(lambda seen: len(seen.calls)) == 1


def test_nothing_is_taken_before_the_start_and_after_the_stop(stages, metrics_body):
    stages.stop()
    with pytest.raises(UnavailableError):
        stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))


def test_the_thread_answers_what_was_taken_before_it_stops(
    new_stages, memory_journal, metrics_body
):
    stages = new_stages()
    stages.start()
    futures = [
        stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(float(n))))
        for n in range(50)
    ]
    stages.stop()
    assert [future.result(0).accepted for future in futures] == [1] * 50
    assert (
        len([entry for entry in memory_journal.entries if entry.kind is not PayloadKind.STOP]) == 50
    )


def test_a_journal_that_takes_nothing_is_known_without_a_payload(stages, memory_journal, health):
    memory_journal.failure = OSError(28, "No space left on device")
    stages.intake.check()
    assert "the journal cannot be written: No space left on device" == health.journal_error
    memory_journal.failure = None
    stages.intake.check()
    assert "" == health.journal_error


def test_what_was_just_written_shows_more_than_a_check(
    stages, memory_journal, health, metrics_body, monkeypatch
):
    """A shortage that does not yet stop anything is a warning, until a write fails."""
    monkeypatch.setattr(appending, "CHECK_SECONDS", 1e9)
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    memory_journal.failure = OSError(28, "No space left on device")
    stages.intake.check()
    assert "" == health.journal_error
    assert "No space left on device" in health.journal_warning
    refused = stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    assert isinstance(refused.exception(0), UnavailableError)
    assert "the journal cannot be written: No space left on device" == health.journal_error


def test_who_fills_the_queue_leaves_room_for_others(new_stages, metrics_body):
    body = metrics_body(1.0)
    stages = new_stages(queue_bytes=10 * len(body))
    stages.recover()

    def payload(sender):
        return Payload(PayloadKind.METRICS_PROTOBUF, body, sender=sender)

    for _ in range(5):
        stages.submit(payload(b"greedy"))
    with pytest.raises(BusyError):
        stages.submit(payload(b"greedy"))
    stages.submit(payload(b"other"))
    stages.step()
    stages.submit(payload(b"greedy"))
