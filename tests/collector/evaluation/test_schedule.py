"""The schedule: seconds in which something changed or is due, and no others."""

import threading

import pytest

from rankscope.collector.evaluation.access import FairLock
from rankscope.collector.evaluation.schedule import EvaluationSchedule, ScheduleHooks
from rankscope.collector.intake.payloads import DecodedPayload
from rankscope.vocabulary.samples import Event, TelemetryResource

START = 1_700_000_000.25


@pytest.fixture
def schedule(pipeline):
    def failed(_stage, error):
        raise error

    return EvaluationSchedule(pipeline, ScheduleHooks(changed=lambda *_: None, failed=failed))


def event(at):
    resource = TelemetryResource(host="gpu-1", job="run-1")
    return DecodedPayload(events=[Event("gpu.fault", at, {}, resource)])


def evaluated(pipeline):
    return [call[1] for call in pipeline.calls if call[0] == "evaluate"]


def test_a_second_without_change_and_without_a_deadline_is_not_evaluated(schedule, pipeline):
    pipeline.every_second = False
    schedule.apply(event(START), START)
    schedule.apply(event(START + 30), START + 30)
    schedule.until(START + 60)
    assert evaluated(pipeline) == [1_700_000_001.0, 1_700_000_031.0]


def test_a_deadline_is_kept_to_the_second(schedule, pipeline):
    pipeline.every_second = False
    schedule.apply(event(START), START)
    pipeline.next_due = lambda: 1_700_000_014.5
    schedule.until(START + 20)
    # It stays due here, so from then on every second is evaluated.
    assert evaluated(pipeline) == [1_700_000_001.0, *(1_700_000_015.0 + n for n in range(6))]


def test_a_night_of_silence_is_not_evaluated_second_by_second(schedule, pipeline):
    schedule.apply(event(START), START)
    schedule.apply(event(START + 43_200), START + 43_200)
    assert len(evaluated(pipeline)) == 900
    assert pipeline.calls[-1][0] == "events"


def test_who_waits_for_a_fair_lock_gets_it_before_its_last_holder():
    lock, order, waiting = FairLock(), [], threading.Event()

    def reader():
        waiting.set()
        with lock:
            order.append("reader")

    with lock:
        thread = threading.Thread(target=reader)
        thread.start()
        waiting.wait(60)
        while not lock._next.locked():
            pass
    with lock:
        order.append("holder")
    thread.join()
    assert order == ["reader", "holder"]
