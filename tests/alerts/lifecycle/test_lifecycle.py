"""One incident from its first symptom to its end."""

import pytest
from tests.alerts.lifecycle.courses import START, Course

from rankscope.vocabulary.faults import SEVERITIES


def test_the_first_symptom_opens_the_incident(course, slow):
    change = course.at(60, *slow)
    incident = change.incident
    assert ("incident.opened", True) == (change.kind, change.notify)
    assert ("open", "warning", 0) == (incident.status, incident.severity, incident.attempt)
    assert (START + 40, START + 60) == (incident.opened_at, incident.detected_at)
    assert "host.cpu_contention" == incident.root_cause.hypotheses[0].fault
    assert ["opened"] == [moment.kind for moment in incident.timeline]


def test_every_document_follows_the_published_schema(course, slow, valid_incident):
    course.at(60, *slow)
    course.at(70, *slow)
    course.at(100)
    assert 3 == len(course.changes)
    for change in course.changes:
        valid_incident(change.incident.document())


def test_nothing_new_is_no_change(course, slow):
    course.at(60, *slow)
    assert [None] * 9 == [course.at(now, *slow) for now in range(61, 70)]


def test_a_cause_that_holds_for_ten_seconds_is_stable(course, slow):
    course.at(60, *slow)
    change = course.at(70, *slow)
    assert ("incident.updated", False) == (change.kind, change.notify)
    assert "stable" == change.incident.root_cause.status
    assert "stable: host.cpu_contention (host host-b)" == change.incident.timeline[-1].text


def test_the_impact_alone_is_worth_a_new_document_every_half_minute(course, slow):
    course.at(60, *slow)
    updates = [now for now in range(61, 150) if course.at(now, *slow)]
    assert [70, 100, 130] == updates
    assert ["opened"] == course.notices


def test_slowness_costs_the_share_of_time_that_it_takes(course, slow):
    course.at(60, *slow)
    course.at(90, *slow)
    impact = course.now.impact
    assert (4, 2, 1.25) == (impact.ranks, impact.nodes, impact.slowdown)
    assert impact.gpu_seconds_lost == pytest.approx(4 * 50 * 0.2)


def test_a_stopped_job_costs_all_the_time_of_all_ranks(course, stuck):
    course.at(60, *stuck(3.0), stepped=40)
    assert (None, 4 * 20.0) == (course.now.impact.slowdown, course.now.impact.gpu_seconds_lost)


def test_a_stall_begins_as_info_and_pages_once_it_is_certain(course, stuck):
    for now, score in ((52, 1.0), (60, 1.0), (75, 2.0), (90, 3.0), (91, 3.0)):
        course.at(now, *stuck(score), stepped=40)
    assert [("info", False), ("warning", True), ("critical", True)] == [
        (change.incident.severity, change.notify) for change in course.changes
    ]
    assert ["info -> warning", "warning -> critical"] == [
        moment.text for moment in course.now.timeline if moment.kind == "severity"
    ]


def test_severity_never_falls(course, stuck):
    worst = []
    for now, score in ((60, 3.0), (61, 1.0), (95, 1.0), (130, 2.0), (170, 1.0)):
        course.at(now, *stuck(score), stepped=40)
        worst.append(SEVERITIES.index(course.now.severity))
    assert sorted(worst, reverse=True) == worst == [0] * 5
    assert ["opened"] == course.notices


def test_slowness_without_a_named_cause_pages_nobody_for_a_minute(course, topology, found):
    lone = found("job.slow", topology.job_entity, 40.0)
    course.at(60, lone)
    assert ("info", False) == (course.now.severity, course.changes[-1].notify)
    course.at(119, lone)
    assert "info" == course.now.severity, "however long ago it began"
    course.at(121, lone)
    assert ("warning", True) == (course.now.severity, course.changes[-1].notify)


@pytest.mark.parametrize(
    ("kind", "score", "severity"),
    [
        ("job.nonfinite", 3.0, "critical"), ("job.nonfinite", 2.0, "warning"),
        ("job.crashed", 3.0, "critical"), ("job.crashed", 1.0, "info"),
    ],
)  # fmt: skip
def test_a_stop_without_a_named_cause_is_as_bad_as_it_is_certain(
    course, topology, found, kind, score, severity
):
    course.at(60, found(kind, topology.job_entity, 40.0, score=score))
    assert ("unknown", severity) == (
        course.now.root_cause.hypotheses[0].fault, course.now.severity,
    )  # fmt: skip


@pytest.mark.parametrize(("score", "severity"), [(3.0, "critical"), (1.5, "warning")])
def test_a_lost_host_is_as_bad_as_its_fault_once_it_is_certain(
    course, topology, found, score, severity
):
    course.at(60, found("host.silent", topology.host_entity("host-b"), 40.0, score=score))
    assert ("host.lost", severity) == (
        course.now.root_cause.hypotheses[0].fault, course.now.severity,
    )  # fmt: skip


def test_a_host_that_is_silent_no_more_was_not_lost(course, topology, found, stuck):
    silent = found("host.silent", topology.host_entity("host-b"))
    for now in range(50, 70):
        course.at(now, *stuck(3.0), silent)
    assert "host.lost" == course.now.root_cause.hypotheses[0].fault
    for now in range(70, 100):
        course.at(now, *stuck(3.0))
    assert "software.stuck_process" == course.now.root_cause.hypotheses[0].fault


def test_a_nan_in_a_job_that_ended_is_closed_and_costs_no_more(course, topology, found):
    bad = (
        found("job.nonfinite", topology.job_entity, 40.0),
        found("rank.first_nonfinite", topology.rank_entity(1), 40.0),
    )
    for now in range(60, 700):
        course.at(now, *bad, stepped=min(now, 70), silent=max(now - 70.0, 0.0))
    assert "the job has ended" == course.now.timeline[-1].text
    assert ("resolved", START + 70) == (course.now.status, course.now.resolved_at)
    assert pytest.approx(4 * (70 - 40)) == course.now.impact.gpu_seconds_lost
    assert START + 371 == course.now.updated_at


def test_a_crash_that_nobody_restarts_is_closed_when_the_job_is_over(course, topology, found):
    crash = (
        found("job.crashed", topology.job_entity, 40.0),
        found("rank.first_exit", topology.rank_entity(3), 40.0),
    )
    for now in range(41, 500):
        course.at(now, *crash, stepped=39, silent=now - 40.0)
    assert "the job ended without a restart" == course.now.timeline[-1].text
    assert ("resolved", START + 40) == (course.now.status, course.now.resolved_at)
    lost = course.now.impact.gpu_seconds_lost
    assert pytest.approx(4 * 300) == lost, "ranks wait for a restart until the job is over"


def test_a_second_symptom_is_on_the_timeline_and_no_notice(course, slow, stuck):
    course.at(60, *slow)
    change = course.at(61, *slow, stuck(1.0)[0])
    assert ("incident.updated", False) == (change.kind, change.notify)
    assert ["opened", "symptom"] == [moment.kind for moment in change.incident.timeline]
    assert ["job.slow", "job.stalled"] == [s.kind for s in change.incident.symptoms]


def test_a_symptom_keeps_its_first_onset_and_shows_its_newest_size(course, topology, found):
    course.at(60, found("job.slow", topology.job_entity, 40.0, magnitude=1.2))
    course.at(
        101,
        found("job.slow", topology.job_entity, 45.0, magnitude=1.5, text="now half as slow again"),
    )
    (symptom,) = course.now.symptoms
    assert (START + 40, 1.5, "now half as slow again") == (
        symptom.onset, symptom.magnitude, symptom.text,
    )  # fmt: skip


def test_the_id_is_the_same_through_the_whole_course_and_in_every_replay(
    course, slow, stuck, topology, health
):
    for now in (60, 70, 101):
        course.at(now, *slow)
    course.at(140)
    again = Course(topology, health)
    again.at(63, *slow)
    assert 1 == len({change.incident.id for change in (*course.changes, *again.changes)})
    other = Course(topology, health)
    other.at(60, *stuck(1.0), stepped=40)
    assert other.now.id != course.now.id
