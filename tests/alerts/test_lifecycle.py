"""One incident from its first symptom to its end."""

from dataclasses import replace

import pytest

from rankscope.alerts.causes import engine
from rankscope.alerts.causes.engine import Explanation
from rankscope.alerts.lifecycle import TrackedIncident, incident_id, is_symptom
from rankscope.alerts.losses import Losses
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.faults import SEVERITIES
from rankscope.vocabulary.ids import Job

START = 1_700_000_000.0
RUN = Job("run-1")


EVERYTHING = frozenset(s for kind in kinds.catalogue().values() for s in kind.signals)


def explain(findings, topology):
    return engine.explain(findings, topology, observed=EVERYTHING)


class Course:
    """An incident second by second: what is found, how the job does, what changed."""

    def __init__(self, topology, health):
        self.topology, self.health = topology, health
        self.incident = None
        self.losses = Losses()
        self.changes = []

    def at(self, now, *findings, cause=None, attempt=0, **health):
        symptoms = tuple(f for f in findings if is_symptom(f))
        if self.incident is None:
            first, onset = symptoms[0].kind, symptoms[0].onset[0]
            name = incident_id(RUN, first, onset)
            self.incident = TrackedIncident(name, attempt, onset, START + now)
        found = None
        if symptoms:
            found = Explanation(cause or explain(findings, self.topology), symptoms)
        job = self.health(health.pop("stepped", now - 1.0), attempt=attempt, **health)
        change = self.incident.advance(RUN, found, job, START + now)
        self.losses.settle(RUN, [self.incident], job.ranks)
        if change is not None:
            change = self.incident.counted(change)
            self.changes.append(change)
        return change

    @property
    def notices(self):
        return [change.kind.removeprefix("incident.") for change in self.changes if change.notify]

    @property
    def now(self):
        return self.changes[-1].incident


@pytest.fixture
def course(topology, health):
    return Course(topology, health)


@pytest.fixture
def slow(topology, found):
    """Return what is found of a host whose ranks do not get their CPU time, 40 s after START."""
    return (
        found("job.slow", topology.job_entity, 40.0, magnitude=1.25),
        *(found("rank.slow_compute", topology.rank_entity(rank)) for rank in (2, 3)),
        found("host.cpu_wait", topology.host_entity("host-b")),
    )


@pytest.fixture
def stuck(topology, found):
    """Return a function for what is found of a rank that stopped, as sure as its detector is."""

    def make(score):
        return (
            found("job.stalled", topology.job_entity, 40.0, score=score),
            found("rank.behind_enqueued", topology.rank_entity(2)),
            found("rank.outside_collective", topology.rank_entity(2)),
        )

    return make


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


def test_while_provisional_another_first_cause_takes_over_at_once(course, topology, found, slow):
    course.at(60, slow[0])
    change = course.at(61, *slow)
    assert "host.cpu_contention" == change.incident.root_cause.hypotheses[0].fault
    assert "first cause is now host.cpu_contention (host host-b)" in [
        moment.text for moment in change.incident.timeline
    ]


def test_people_are_notified_once_that_the_first_cause_changed(course, topology, found, slow):
    hot = (slow[0], slow[1], found("gpu.throttled", topology.gpu_entity(2)))
    for now, findings in ((60, slow), (61, hot), (62, slow), (63, hot)):
        course.at(now, *findings)
    assert ["opened", "updated"] == course.notices


def test_a_stable_cause_gives_way_only_to_one_that_leads_and_lasts(course, topology, found, slow):
    for now in (60, 70):
        course.at(now, *slow)
    stable = explain(slow, topology)
    rival = explain((slow[0], slow[1], found("gpu.throttled", topology.gpu_entity(2))), topology)

    def scored(cause, score):
        first = replace(cause.hypotheses[0], score=score)
        return replace(cause, hypotheses=(first, stable.hypotheses[0]))

    known = stable.hypotheses[0].score
    weak, strong = scored(rival, known + 0.4), scored(rival, known + 2)
    course.at(71, *slow, cause=weak)
    course.at(72, *slow, cause=strong)
    course.at(74, *slow, cause=weak)
    course.at(75, *slow, cause=strong)
    course.at(79, *slow, cause=strong)
    assert "host.cpu_contention" == course.now.root_cause.hypotheses[0].fault
    course.at(80, *slow, cause=strong)
    assert "gpu.thermal_throttle" == course.now.root_cause.hypotheses[0].fault
    assert "provisional" == course.now.root_cause.status


def test_a_stable_cause_is_shown_anew_where_its_evidence_grew(course, slow):
    weak = (*slow[:-1], replace(slow[-1], score=1.0))
    for now in (60, 70):
        course.at(now, *weak)
    before = course.now.root_cause
    assert None is course.at(71, *weak)
    course.at(72, *slow)
    assert course.now.root_cause.hypotheses[0].score > before.hypotheses[0].score
    assert "stable" == course.now.root_cause.status


def test_an_incident_ends_when_its_symptoms_are_gone_and_steps_go_on(course, slow):
    course.at(60, *slow)
    assert [None] * 29 == [course.at(now) for now in range(61, 90)]
    change = course.at(90)
    assert ("incident.resolved", "resolved", True) == (
        change.kind, change.incident.status, change.notify,
    )  # fmt: skip
    assert START + 60 == change.incident.resolved_at
    assert "training goes on" == change.incident.timeline[-1].text


def test_nobody_is_notified_of_the_end_of_what_they_were_not_notified_of(course, stuck):
    course.at(52, *stuck(1.0), stepped=40)
    assert ("incident.resolved", False) == (
        (change := course.at(90)).kind, change.notify,
    )  # fmt: skip


def test_a_stalled_job_that_sends_no_more_is_closed_without_a_word_of_health(course, stuck):
    course.at(60, *stuck(3.0), stepped=40)
    assert None is course.at(300, stepped=40, silent=240.0)
    change = course.at(365, stepped=40, silent=305.0)
    assert "the job ended without a restart" == change.incident.timeline[-1].text


def test_a_slow_job_that_ended_is_resolved_when_it_has_long_been_silent(course, slow):
    course.at(60, *slow)
    assert None is course.at(300, stepped=58, silent=240.0)
    change = course.at(365, stepped=58, silent=305.0)
    assert "the job has ended" == change.incident.timeline[-1].text


def test_a_new_attempt_ends_the_incident_of_the_old_one_with_its_first_step(course, stuck):
    course.at(60, *stuck(3.0), stepped=40)
    assert None is course.at(95, stepped=float("-inf"), attempt=1), "not one step yet"
    change = course.at(96, stepped=95, attempt=1)
    assert ("incident.resolved", "training goes on") == (
        change.kind, change.incident.timeline[-1].text,
    )  # fmt: skip


def test_after_its_end_nothing_changes_an_incident(course, slow):
    course.at(60, *slow)
    course.at(90)
    assert None is course.at(91, *slow)
    assert None is course.at(200)
