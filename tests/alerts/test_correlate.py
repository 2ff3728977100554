"""Which symptoms belong together: as few cases as there are causes."""

import random
from functools import partial

import pytest

from rankscope.alerts import correlate
from rankscope.alerts.causes.engine import explain
from rankscope.alerts.correlate import Cases
from rankscope.vocabulary.ids import Job

START = 1_700_000_000.0
RUN = Job("run-1")


@pytest.fixture
def cases() -> Cases:
    return Cases()


@pytest.fixture
def judged(cases, places, scene):
    """Return a function that folds what was found at a second into the cases of a job."""

    def judge(now, *findings, job=RUN, attempt=0, **health):
        return cases.update(
            job,
            attempt,
            findings,
            partial(explain, places=places),
            scene(health.pop("stepped", now - 1.0), attempt=attempt, **health),
            START + now,
        )

    return judge


@pytest.fixture
def slow(places, found):
    return found("job.slow", places.job, 40.0)


@pytest.fixture
def stalled(places, found):
    return found("job.stalled", places.job, 100.0)


def kinds(changes):
    return [change.kind for change in changes]


def held(cases):
    return [sorted(s.kind for s in row.symptoms) for row in cases.incidents.values()]


def test_a_symptom_opens_an_incident(judged, cases, slow):
    (change,) = judged(60, slow)
    assert "incident.opened" == change.kind
    assert {change.incident.id: change.incident} == cases.incidents
    assert (START + 40, START + 60) == (change.incident.opened_at, change.incident.detected_at)
    assert cases.has_open(RUN)


def test_evidence_without_a_symptom_opens_nothing(judged, cases, places, found):
    assert [] == judged(60, found("rank.slow_compute", places.rank_entity(2)))
    assert not cases.has_open(RUN)


def test_symptoms_of_one_job_that_begin_together_fold_into_one_incident(
    judged, cases, slow, stalled
):
    judged(60, slow)
    judged(120, slow, stalled)
    assert [["job.slow", "job.stalled"]] == held(cases)


def test_symptoms_found_at_the_same_second_fold_whichever_comes_first(judged, cases, slow, stalled):
    judged(120, stalled, slow)
    assert [["job.slow", "job.stalled"]] == held(cases)


def test_a_symptom_that_begins_long_after_opens_its_own_incident(
    judged, cases, places, found, slow
):
    judged(60, slow)
    judged(300, slow, found("job.nonfinite", places.job, 290.0))
    assert [["job.slow"], ["job.nonfinite"]] == held(cases)


def test_the_same_symptom_with_a_later_onset_stays_in_its_incident(
    judged, cases, places, found, slow
):
    judged(60, slow)
    judged(400, found("job.slow", places.job, 390.0))
    assert [["job.slow"]] == held(cases)


def test_two_jobs_never_fold(judged, cases, settle, found, slow):
    other = settle("run-2").job
    judged(60, slow)
    judged(60, found("job.slow", other, 40.0, job="run-2"), job=Job("run-2"))
    assert 2 == len(cases.incidents)
    assert {"run-1", "run-2"} == {row.job for row in cases.incidents.values()}


def test_a_new_attempt_opens_its_own_incident(judged, cases, places, found):
    judged(60, found("job.crashed", places.job, 55.0))
    judged(90, found("job.slow", places.job, 80.0, attempt=1), attempt=1)
    assert [0, 1] == [row.attempt for row in cases.incidents.values()]


def test_a_new_attempt_that_steps_resolves_the_crash_before_it(judged, cases, places, found):
    judged(60, found("job.crashed", places.job, 55.0))
    assert [] == judged(80, attempt=1)
    (change,) = judged(95, attempt=1)
    assert ("incident.resolved", START + 60) == (change.kind, change.incident.resolved_at)
    assert not cases.has_open(RUN)


def test_evidence_goes_to_every_open_incident_of_its_job(judged, cases, places, found, slow):
    judged(60, slow)
    nan = found("job.nonfinite", places.job, 290.0)
    first = found("rank.first_nonfinite", places.rank_entity(1), 290.0)
    judged(300, slow, nan, first)
    faults = [row.root_cause.hypotheses[0].fault for row in cases.incidents.values()]
    assert ["unknown", "numerics.nan_rank"] == faults


def test_the_tail_of_a_resolved_incident_does_not_open_it_again(judged, cases, slow):
    judged(60, slow)
    assert ["incident.resolved"] == kinds(judged(95))
    assert [] == judged(96, slow)
    assert 1 == len(cases.incidents)


def test_the_same_trouble_later_is_a_new_incident(judged, cases, places, found, slow):
    judged(60, slow)
    judged(95)
    assert ["incident.opened"] == kinds(judged(400, found("job.slow", places.job, 390.0)))
    assert 2 == len(cases.incidents)


def test_the_same_findings_again_change_nothing(judged, slow):
    judged(60, slow)
    assert [] == judged(61, slow)


def test_the_order_of_findings_changes_no_incident(cases, places, found, scene):
    findings = [
        found("job.slow", places.job, 40.0),
        found("job.stalled", places.job, 45.0),
        found("host.silent", places.hosts["host-b"], 44.0),
        found("rank.slow_compute", places.rank_entity(2), 40.0),
        found("rank.behind_enqueued", places.rank_entity(2), 45.0),
    ]
    told = set()
    for seed in range(20):
        shuffled = random.Random(seed).sample(findings, len(findings))
        there = Cases()
        there.update(RUN, 0, shuffled, partial(explain, places=places), scene(), START + 60)
        told.add(str([row.document()["symptoms"] for row in there.incidents.values()]))
    assert 1 == len(told)


def test_only_the_newest_resolved_incidents_are_remembered(
    judged, cases, places, found, monkeypatch
):
    monkeypatch.setattr(correlate, "KEPT_RESOLVED", 2)
    for turn in range(4):
        begun = 1000.0 * turn
        judged(begun + 20, found("job.slow", places.job, begun))
        judged(begun + 60)
    judged(5000, found("job.slow", places.job, 4990.0))
    opened = [row.opened_at - START for row in cases.incidents.values()]
    assert [3000.0, 4990.0] == opened


def test_open_incidents_are_never_forgotten(judged, cases, places, found, monkeypatch):
    monkeypatch.setattr(correlate, "KEPT_RESOLVED", 1)
    judged(20, found("job.slow", places.job, 10.0))
    judged(400, found("job.slow", places.job, 10.0), found("job.nonfinite", places.job, 390.0))
    assert 2 == len(cases.incidents)
