"""Several collectors over one log: partitions move, incidents stay, nothing is announced twice."""

import collections
import itertools
import time

import pytest
from tests.waiting import until

from bench.soak.load import payload
from rankscope.alerts.actions import PersonAction
from rankscope.collector.cluster import names, replaying
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.intake.waiting import UnavailableError
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.replay.replay import ReplayRun
from rankscope.vocabulary.ids import IncidentId
from rankscope.vocabulary.times import parse

from .conftest import PARTITIONS

JOBS = [
    next(f"run-{n}" for n in itertools.count() if names.of_job(f"run-{n}", PARTITIONS) == partition)
    for partition in range(PARTITIONS)
]
"""One job for each partition."""


def _send(stages, step: int) -> None:
    for job in JOBS:
        body = payload(job, step, time.time())
        stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, body)).result(60)


def _train(stages, steps: range) -> None:
    for step in steps:
        _send(stages, step)
        time.sleep(0.3)  # JetStream's clock gives the receive times: there is none to set


def _incidents(stages) -> dict[str, list[str]]:
    found = collections.defaultdict(list)
    for row in stages._store.incidents().items:
        found[row["job"]].append(row["id"])
    return found


def _all_ready(*collectors) -> bool:
    ones = [one for stages in collectors for one in stages.owned.partitions()]
    return len(ones) == PARTITIONS and all(one.ready for one in ones)


def test_a_collector_that_gives_no_more_signs_is_replaced_and_every_incident_goes_on(
    log, new_collector
):
    first, second = new_collector("first"), new_collector("second")
    first.start()
    second.start()
    until(lambda: all(len(one.owned) == 1 for one in (first, second)), "shared out")
    until(lambda: _all_ready(first, second), "both are ready")

    _train(first, range(1, 7))  # the loss turns NaN at step 4
    until(lambda: set(_incidents(first)) == set(JOBS), "an incident of each job")
    before = _incidents(first)

    second.membership._stopping = True  # it sleeps, as a process that was stopped does
    second.membership._poked.set()
    until(lambda: len(first.owned) == PARTITIONS and _all_ready(first), "taken over")
    _train(first, range(7, 10))
    until(lambda: all(one.read(_steps) >= 9 for one in first.owned.partitions()), "evaluated")
    assert _incidents(first) == before

    messages = first._store.deliveries("page", limit=1000)
    opened = [row.incident for row in messages if row.type == "incident.opened"]
    assert sorted(opened) == sorted(identity for ids in before.values() for identity in ids)

    # It wakes: what it decides now is nobody's business any more.
    second.membership._stopping = False
    second.membership.step()
    assert len(second.owned) <= 1  # it may be given one again
    assert _incidents(first) == before


def _steps(line: DetectionPipeline) -> int:
    rows = [attempt.grid.view().index for attempt in line.windows.current()]
    return max((int(index[-1]) for index in rows if len(index)), default=0)


@pytest.mark.long  # test_shared_root.py ends with a replay too
def test_a_replay_of_the_streams_comes_to_the_same_incidents(log, new_collector):
    one = new_collector("one")
    one.start()
    until(lambda: _all_ready(one), "ready")
    _train(one, range(1, 8))
    until(lambda: set(_incidents(one)) == set(JOBS), "an incident of each job")
    defects: list[object] = []

    def replay() -> ReplayRun:
        return ReplayRun(
            pipeline=DetectionPipeline(),
            warn=defects.append,
            failed=lambda *what: defects.append(what),
        )

    again = replaying.replayed(log, replay)
    assert replaying.replayed(log, replay, end_ns=1) == []
    live = one._store.incidents().items
    same = ("id", "job", "opened_at", "detected_at", "symptoms")
    by_id = {row["id"]: row for row in again}
    for row in live:
        assert [by_id[row["id"]][name] for name in same[:4]] == [row[name] for name in same[:4]]
    assert len(again) == len(live)
    assert defects == []


def test_a_collector_that_ends_hands_over_at_once_and_its_successor_begins_with_its_snapshot(
    new_collector,
):
    first, second = new_collector("first"), new_collector("second")
    first.start()
    until(lambda: _all_ready(first), "ready")
    _train(first, range(1, 7))
    until(lambda: set(_incidents(first)) == set(JOBS), "an incident of each job")
    second.start()
    first.stop()
    until(lambda: _all_ready(second), "taken over")
    assert all(one.read(_steps) >= 6 for one in second.owned.partitions())
    assert all(len(ids) == 1 for ids in _incidents(second).values())


def test_what_a_person_does_reaches_the_job_s_owner_from_any_collector(new_collector):
    first, second = new_collector("first"), new_collector("second")
    first.start()
    second.start()
    until(lambda: all(len(one.owned) == 1 for one in (first, second)), "shared out")
    until(lambda: _all_ready(first, second), "both are ready")
    _train(first, range(1, 7))
    until(lambda: set(_incidents(first)) == set(JOBS), "an incident of each job")
    for job, (identity,) in _incidents(first).items():
        action = PersonAction(
            "acknowledge", IncidentId(identity), time.time(), "somebody", {"note": job}
        )
        assert second.act(RecordedAction.new(action), timeout_seconds=60)
        assert first._store.incident(identity)["status"] == "acknowledged"


def test_while_nats_is_away_telemetry_is_refused_and_no_partition_moves(nats, new_collector):
    first, second = new_collector("first"), new_collector("second")
    first.start()
    second.start()
    until(lambda: all(len(one.owned) == 1 for one in (first, second)), "shared out")
    until(lambda: _all_ready(first, second), "both are ready")
    epochs = [one.epoch for stages in (first, second) for one in stages.owned.partitions()]

    nats.kill()
    until(lambda: not (first.ready or second.ready), "NATS is away")
    with pytest.raises(UnavailableError) as refused:
        first.submit(Payload(PayloadKind.METRICS_PROTOBUF, payload(JOBS[0], 1, time.time())))
    assert refused.value.retry_after_seconds > 0
    assert ["NATS is away" in text for text in first.warnings()] == [True]

    nats.start()
    until(lambda: first.ready and second.ready, "NATS is back")
    _send(first, 1)
    until(lambda: all(_steps_of(one) >= 1 for one in (first, second)), "evaluated")
    assert epochs == [one.epoch for stages in (first, second) for one in stages.owned.partitions()]


def _steps_of(stages) -> int:
    return min((one.read(_steps) for one in stages.owned.partitions()), default=0)


def test_an_entry_that_cannot_be_read_is_moved_aside_and_the_rest_is_evaluated(
    connection, new_collector
):
    one = new_collector("one")
    one.start()
    until(lambda: _all_ready(one), "ready")
    work = connection.js.publish(names.subject(0), b"nobody can read this")
    connection.call(work, 10)
    _train(one, range(1, 3))
    until(lambda: all(each.read(_steps) >= 2 for each in one.owned.partitions()), "evaluated")
    aside = connection.call(connection.js.get_last_msg(names.ASIDE, names.aside(0)), 10)
    assert aside.data == b"nobody can read this"
    value = one._parts.health.registry.get_sample_value("rankscope_collector_aside_entries_total")
    assert value == 1


@pytest.mark.long
def test_jobs_of_one_id_in_two_clusters_have_an_incident_each_also_with_the_next_owner(
    new_collector,
):
    """The second one is `id@cluster`; requests that name it so are about the same partition."""
    first, second = new_collector("first"), new_collector("second")
    first.start()
    until(lambda: _all_ready(first), "ready")
    job = JOBS[0]

    def train(stages, steps: range) -> None:
        for step in steps:
            for cluster in ("east", "west"):
                body = payload(job, step, time.time(), cluster=cluster)
                stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, body)).result(60)
            time.sleep(0.3)

    train(first, range(1, 7))
    expected = {job, f"{job}@west"}
    until(lambda: set(_incidents(first)) == expected, "an incident of each cluster's job")
    before = _incidents(first)
    second.start()
    first.stop()
    until(lambda: _all_ready(second), "taken over")
    train(second, range(7, 9))
    assert before == _incidents(second)
    found = {row["job"]: row["cluster"] for row in second._store.incidents().items}
    assert found == {job: "east", f"{job}@west": "west"}


def test_a_partition_whose_takeover_meets_a_defect_is_not_left_without_anybody(new_collector):
    made = itertools.count()

    def defective() -> DetectionPipeline:
        if next(made) < 3:
            raise ZeroDivisionError("a defect")
        return DetectionPipeline()

    one = new_collector("one", pipeline=defective)
    one.start()
    until(lambda: _all_ready(one), "ready all the same")
    found = one._parts.health.registry.get_sample_value(
        "rankscope_collector_pipeline_failures_total", {"stage": "takeover"}
    )
    assert 3 == found


@pytest.mark.parametrize("ahead_seconds", [pytest.param(-600.0, marks=pytest.mark.long), 600.0])
def test_a_collector_whose_clock_is_minutes_off_is_not_behind_the_log(new_collector, ahead_seconds):
    one = new_collector("one", system=lambda: time.time() + ahead_seconds)
    one.start()
    until(lambda: _all_ready(one), "ready")
    _train(one, range(1, 8))
    until(lambda: set(_incidents(one)) == set(JOBS), "an incident of each job")
    assert max(each.lag for each in one.owned.partitions()) < 300.0  # of 600
    for row in one._store.incidents().items:
        assert abs(parse(row["opened_at"]) - time.time()) < 300.0
        assert abs(parse(row["detected_at"]) - time.time()) < 300.0
