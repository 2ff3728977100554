"""Overload: evaluation skips seconds, records which, and a replay skips the very same."""

import threading

from rankscope.collector.evaluation.overload import OverloadSkips, RecordedSkips
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.replay.replay import ReplayRun, as_line
from rankscope.detectors import catalogue
from rankscope.detectors.contract import Detector
from rankscope.detectors.selection import DetectorSelection

START = 1_772_438_400


class Behind(Detector):
    """A detector that takes ten seconds of the collector's own clock for each evaluation."""

    name = "behind"
    kinds: tuple[str, ...] = ()

    def __init__(self, clock):
        self._clock = clock

    def evaluate(self, window):
        self._clock.at += 10.0
        return ()


def replayed(folder):
    def failed(_stage, error):
        raise error

    replay = ReplayRun(pipeline=DetectionPipeline(), warn=lambda _: None, failed=failed)
    return [as_line(row) for row in replay.run(folder)]


def test_a_replay_of_an_overloaded_run_gives_the_same_bytes(new_live, job):
    live = new_live()
    pipeline = live.stages.read(lambda held: held)
    pipeline.detection.selection = DetectorSelection((*catalogue.detectors(), Behind(live.clock)))
    sent = START
    for _ in range(14):
        # What came in while evaluation was busy with one second.
        while sent < live.clock.at + 1:
            sent += 1
            slow = 1.6 if START + 60 <= sent else 1.0
            live.stages.submit(
                Payload(PayloadKind.METRICS_PROTOBUF, job.second(sent - 0.1, slow=slow))
            )
        live.clock.at += 1
        live.stages.step()
    live.stages.stop()
    assert live.health.skipped_seconds._value.get() > 50
    documents = [as_line(row) for row in live.documents()]
    assert documents
    assert replayed(live.folder) == documents


def test_what_one_process_skipped_stays_skipped_after_a_crash(new_live, job):
    live = new_live()
    live.take(job.second(live.clock.at))
    live.clock.at += 60
    live.take(job.second(live.clock.at))
    skipped = list(live.decisions.read(None))
    assert len(skipped) == 1
    live.crash()
    live.wait(3)
    assert list(live.decisions.read(None)) == skipped


def test_recorded_seconds_are_skipped_and_no_others():
    recorded = RecordedSkips([(20, 29), (5, 6)])
    answers = [recorded.until(second) for second in (4, 5, 6, 7, 19, 20, 29, 30)]
    assert answers == [None, 6, 6, None, None, 29, 29, None]


def test_seconds_that_cannot_be_recorded_are_not_skipped(memory_journal):
    def until(second):
        overload = OverloadSkips(
            memory_journal, RecordedSkips(), received=lambda: second + 60.5, skipped=lambda _: None
        )
        return overload.until(second)

    assert until(100) == 159
    memory_journal.failure = OSError(28, "No space left on device")
    assert until(100) is None


def test_requests_are_answered_while_evaluation_and_the_database_are_stuck(
    new_stages, pipeline, sink, clock, metrics_body
):
    """Nothing that is acknowledged waits for either, and nothing of it is lost."""
    stuck = threading.Event()
    entered = threading.Event()
    evaluate, commit = pipeline.evaluate_jobs, sink.commit

    def slowly(now):
        entered.set()
        stuck.wait(60)
        yield from evaluate(now)

    def blocked(changes, now):
        stuck.wait(60)
        commit(changes, now)

    pipeline.evaluate_jobs, sink.commit = slowly, blocked
    stages = new_stages(tail_bytes=2048)
    stages.start()
    try:
        stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(0.0))).result(60)
        clock.at += 1
        stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0))).result(60)
        assert entered.wait(60)
        # Far more than the tail holds.
        for number in range(2, 40):
            clock.at += 0.01
            body = metrics_body(float(number))
            assert (
                stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, body)).result(60).accepted == 1
            )
        applied = [call for call in pipeline.calls if call[0] == "metrics"]
        assert len(applied) < 40
        assert sink.committed == []
    finally:
        stuck.set()
    stages.stop()
    applied = [call[2][0][2] for call in pipeline.calls if call[0] == "metrics"]
    assert applied == [float(number) for number in range(40)]
    assert sink.committed


def test_lag_is_how_far_evaluation_is_behind_the_clock(stages, clock, metrics_body):
    stages.recover()
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
    stages.step()
    assert stages.consumer.lag() == 0.0
    clock.at += 9
    assert stages.consumer.lag() == 8.25
    stages.step()
    assert stages.consumer.lag() < 1.0
