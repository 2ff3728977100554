"""A restart: nothing is announced again, nothing is forgotten, with a snapshot and without."""

import math

import pytest

from rankscope.alerts.actions import PersonAction
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes


@pytest.mark.parametrize(
    "snapshot", [pytest.param("taken", marks=pytest.mark.long), "missing", "damaged"]
)
def test_a_fault_that_was_over_before_the_crash_is_not_announced_again(new_live, run, snapshot):
    live = new_live(reread_seconds=120.0)
    run(live, 60)
    run(live, 95, slow=1.6)
    run(live, 40)
    if snapshot != "missing":
        live.snapshot()
    if snapshot == "damaged":
        file = live.folder / "snapshot"
        data = bytearray(file.read_bytes())
        data[-100] ^= 0xFF
        file.write_bytes(data)
    run(live, 80)
    before, documents = list(live.announced), live.documents()
    assert [row["status"] for row in documents] == ["resolved"]
    live.crash()
    run(live, 60)
    assert [row for row in live.announced[len(before) :] if row[0] == "incident.opened"] == []
    assert [row["id"] for row in live.documents()] == [row["id"] for row in documents]
    assert [row["status"] for row in live.documents()] == ["resolved"]


@pytest.mark.parametrize("snapshot", ["taken", pytest.param("missing", marks=pytest.mark.long)])
def test_a_fault_that_lasts_goes_on_under_its_id(new_live, run, snapshot):
    live = new_live(reread_seconds=60.0)
    run(live, 60)
    run(live, 100, slow=1.6)
    if snapshot == "taken":
        live.snapshot()
    run(live, 5, slow=1.6)
    (before,) = live.documents()
    live.crash()
    run(live, 40, slow=1.6)
    run(live, 90)
    (after,) = live.documents()
    assert (before["id"], before["status"]) == (after["id"], "open")
    assert after["status"] == "resolved"


def test_state_after_a_snapshot_and_the_journal_is_that_of_no_crash_at_all(new_live, seconds, calm):
    live = new_live()
    for second, body in seconds(live):
        live.take(body)
        if second % 50 == 20:
            live.snapshot()
        if second % 50 == 33:
            live.crash()
    assert calm.documents == live.documents()
    assert calm.announced == set(live.announced)


@pytest.mark.parametrize("moment", [40, 75, 155])
def test_a_stop_that_has_no_time_for_what_waits_leaves_it_to_the_next_start(
    new_live, seconds, calm, moment
):
    """What waits for evaluation is in the journal; the snapshot says from where on."""
    live = new_live()
    for second, body in seconds(live):
        live.stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, body))
        live.stages.intake.step()
        if not moment <= second < moment + 4:
            live.stages.consumer.step()
            live.stages.storing.flush()
        if second == moment + 3:
            live.stages.stop(until=-math.inf)
            assert not live.stages.consumer.whole
            live.start()
            assert live.snapshots.evaluated() == int(live.clock.at) - 4
    assert calm.documents == live.documents()
    assert calm.announced == set(live.announced)


def test_changes_that_the_store_did_not_have_come_with_the_snapshot(new_live, run, monkeypatch):
    live = new_live()
    run(live, 60)

    def blocked(*_arguments):
        raise RuntimeError("database is locked")

    monkeypatch.setattr(live.store, "commit", blocked)
    run(live, 40, slow=1.6)
    live.snapshot()
    assert live.documents() == []
    monkeypatch.undo()
    live.crash()
    assert [row["status"] for row in live.documents()] == ["open"]


def test_what_a_person_did_before_the_crash_is_neither_lost_nor_done_twice(new_live, run):
    live = new_live()
    run(live, 60)
    live.snapshot()
    run(live, 40, slow=1.6)
    (document,) = live.documents()
    entered = RecordedAction.new(
        PersonAction("acknowledge", document["id"], live.clock.at, "ada", {"note": "on it"})
    )
    live.take(entered.pack(), PayloadKind.ACTION)
    run(live, 5, slow=1.6)
    before = live.documents()
    assert before[0]["status"] == "acknowledged"
    live.crash()
    assert live.documents() == before


@pytest.mark.parametrize("snapshot", ["taken", pytest.param("missing", marks=pytest.mark.long)])
def test_what_time_alone_decided_before_the_crash_is_not_decided_again_later(
    new_live, run, snapshot
):
    """The seconds after the last entry were evaluated, and are not skipped by the next process."""
    live = new_live()
    run(live, 60)
    run(live, 60, slow=1.6)
    run(live, 30)
    if snapshot == "taken":
        live.snapshot()
    run(live, 5)
    silent = 0
    while live.documents()[0]["status"] != "resolved":
        live.wait(1)
        silent += 1
        assert silent < 120
    assert silent > 1, "resolved by an entry: this tests nothing"
    documents = live.documents()
    live.clock.at += 20  # it takes that long to be started again, and nobody could send
    live.crash()
    run(live, 10)
    assert live.documents() == documents


LONG_STEP = 200
"""Seconds of a step that takes longer than what a start without a snapshot reads again."""


def _of_long_steps(at, second, *, started_at):
    """Return what four ranks report in the middle of long steps, and at their ends."""
    samples = []
    for rank in range(4):
        pairs = attributes({"rank": rank})
        info = {"rank": rank, "world_size": 4, "pid": 100 + rank, "process.start_time": started_at}
        samples.append(Sample("training.rank.info", 1, at, attributes(info)))
        samples.append(Sample("training.progress.age", float(second % LONG_STEP), at, pairs))
        if second % LONG_STEP == 0:
            step = second // LONG_STEP
            samples.append(Sample("training.step", float(step), at, pairs))
            samples.append(Sample("training.step.duration", float(LONG_STEP), at, pairs))
    return encode.metrics_request(
        [(TelemetryResource(host="gpu-0", job="run-1", attempt=0), samples)]
    )


def test_a_job_that_trains_for_long_has_not_failed_to_start_after_a_restart(new_live):
    """The journal is read again from the middle of a step: those before it are not seen."""
    live = new_live(reread_seconds=60.0)
    started_at = int(live.clock.at) - 7200
    for second in range(LONG_STEP, 2 * LONG_STEP - 20):
        live.clock.at += 1
        live.take(_of_long_steps(live.clock.at - 0.1, second, started_at=started_at))
    assert live.documents() == []
    live.crash()
    for second in range(2 * LONG_STEP - 20, 2 * LONG_STEP + 20):
        live.clock.at += 1
        live.take(_of_long_steps(live.clock.at - 0.1, second, started_at=started_at))
    assert live.documents() == []


def test_a_job_that_crashes_after_a_restart_is_not_called_one_that_never_stepped(new_live):
    live = new_live(reread_seconds=60.0)
    started_at = int(live.clock.at) - 7200
    for second in range(LONG_STEP, 2 * LONG_STEP - 20):
        live.clock.at += 1
        live.take(_of_long_steps(live.clock.at - 0.1, second, started_at=started_at))
    live.crash()
    resource = TelemetryResource(host="gpu-0", job="run-1", attempt=0)
    exits = [
        Event("process.exit", live.clock.at, {"rank": rank, "pid": 100 + rank, "exit_code": 1},
              resource)
        for rank in range(4)
    ]  # fmt: skip
    live.take(encode.logs_request([(resource, exits)]), PayloadKind.LOGS_PROTOBUF)
    live.wait(30)
    (document,) = live.documents()
    named = [row["fault"] for row in document["root_cause"]["hypotheses"]]
    assert "software.init_failed" != next(iter(named))
    assert "job.no_step" not in {row["kind"] for row in document["symptoms"]}
    signals = [
        row["text"] for cause in document["root_cause"]["hypotheses"] for row in cause["evidence"]
    ]
    assert not [text for text in signals if "without one step" in text]
