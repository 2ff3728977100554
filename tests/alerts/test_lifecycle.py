"""One case from its first symptom to its end."""

from dataclasses import replace

import pytest

from rankscope.alerts.causes.engine import explain
from rankscope.alerts.lifecycle import open_incident
from rankscope.vocabulary.faults import SEVERITIES
from rankscope.vocabulary.ids import Job

START = 1_700_000_000.0
RUN = Job("run-1")


class Story:
    """A case reported second by second: what is found, how the job does, what changed."""

    def __init__(self, places, health):
        self.places, self.health = places, health
        self.case = None
        self.changes = []

    def at(self, now, *findings, cause=None, attempt=0, **health):
        symptoms = [f for f in findings if f.kind in SYMPTOMS]
        evidence = [f for f in findings if f not in symptoms]
        if self.case is None:
            self.case = open_incident(RUN, attempt, symptoms[0], START + now)
        why = cause or (explain(findings, self.places) if symptoms else None)
        job = self.health(health.pop("stepped", now - 1.0), attempt=attempt, **health)
        change = self.case.advance(symptoms, evidence, why, job, START + now)
        if change is not None:
            self.changes.append(change)
        return change

    @property
    def valid(self):
        return [change.kind.removeprefix("incident.") for change in self.changes if change.notify]

    @property
    def now(self):
        return self.changes[-1].incident


SYMPTOMS = {"job.slow", "job.stalled", "job.nonfinite", "job.crashed", "host.silent"}


@pytest.fixture
def story(places, health):
    return Story(places, health)


@pytest.fixture
def slow(places, found):
    """Return what is found of a host whose ranks do not get their CPU time, 40 s after START."""
    return (
        found("job.slow", places.job, 40.0, magnitude=1.25),
        *(found("rank.slow_compute", places.rank_entity(rank)) for rank in (2, 3)),
        found("host.cpu_wait", places.hosts["host-b"]),
    )


@pytest.fixture
def stuck(places, found):
    """Return a function for what is found of a rank that stopped, as sure as its detector is."""

    def make(score):
        return (
            found("job.stalled", places.job, 40.0, score=score),
            found("rank.behind_enqueued", places.rank_entity(2)),
            found("rank.outside_collective", places.rank_entity(2)),
        )

    return make


def test_the_first_symptom_opens_the_incident(story, slow):
    change = story.at(60, *slow)
    incident = change.incident
    assert ("incident.opened", True) == (change.kind, change.notify)
    assert ("open", "warning", 0) == (incident.status, incident.severity, incident.attempt)
    assert (START + 40, START + 60) == (incident.opened_at, incident.detected_at)
    assert "host.cpu_contention" == incident.root_cause.hypotheses[0].fault
    assert ["opened"] == [moment.kind for moment in incident.timeline]


def test_every_document_follows_the_published_schema(story, slow, valid_incident):
    story.at(60, *slow)
    story.at(70, *slow)
    story.at(100)
    assert 3 == len(story.changes)
    for change in story.changes:
        valid_incident(change.incident.document())


def test_nothing_new_is_no_change(story, slow):
    story.at(60, *slow)
    assert [None] * 9 == [story.at(now, *slow) for now in range(61, 70)]


def test_a_cause_that_holds_for_ten_seconds_is_stable(story, slow):
    story.at(60, *slow)
    change = story.at(70, *slow)
    assert ("incident.updated", False) == (change.kind, change.notify)
    assert "stable" == change.incident.root_cause.status
    assert "stable: host.cpu_contention (host host-b)" == change.incident.timeline[-1].text


def test_the_impact_alone_is_worth_a_new_document_every_half_minute(story, slow):
    story.at(60, *slow)
    updates = [now for now in range(61, 150) if story.at(now, *slow)]
    assert [70, 100, 130] == updates
    assert ["opened"] == story.valid


def test_slowness_costs_the_share_of_time_that_it_takes(story, slow):
    story.at(60, *slow)
    story.at(90, *slow)
    impact = story.now.impact
    assert (4, 2, 1.25) == (impact.ranks, impact.nodes, impact.slowdown)
    assert impact.gpu_seconds_lost == pytest.approx(4 * 50 * 0.2)


def test_a_stopped_job_costs_all_the_time_of_all_ranks(story, stuck):
    story.at(60, *stuck(3.0), stepped=40)
    assert (None, 4 * 20.0) == (story.now.impact.slowdown, story.now.impact.gpu_seconds_lost)


def test_a_stall_begins_as_info_and_pages_once_it_is_certain(story, stuck):
    for now, score in ((52, 1.0), (60, 1.0), (75, 2.0), (90, 3.0), (91, 3.0)):
        story.at(now, *stuck(score), stepped=40)
    assert [("info", False), ("warning", True), ("critical", True)] == [
        (change.incident.severity, change.notify) for change in story.changes
    ]
    assert ["info -> warning", "warning -> critical"] == [
        moment.text for moment in story.now.timeline if moment.kind == "severity"
    ]


def test_severity_never_falls(story, stuck):
    worst = []
    for now, score in ((60, 3.0), (61, 1.0), (95, 1.0), (130, 2.0), (170, 1.0)):
        story.at(now, *stuck(score), stepped=40)
        worst.append(SEVERITIES.index(story.now.severity))
    assert sorted(worst, reverse=True) == worst == [0] * 5
    assert ["opened"] == story.valid


def test_slowness_without_a_named_cause_pages_nobody_for_a_minute(story, places, found):
    lone = found("job.slow", places.job, 40.0)
    story.at(60, lone)
    assert ("info", False) == (story.now.severity, story.changes[-1].notify)
    story.at(101, lone)
    assert ("warning", True) == (story.now.severity, story.changes[-1].notify)


@pytest.mark.parametrize(
    ("kind", "score", "severity"),
    [
        ("job.nonfinite", 3.0, "critical"), ("job.nonfinite", 2.0, "warning"),
        ("job.crashed", 3.0, "critical"), ("job.crashed", 1.0, "info"),
    ],
)  # fmt: skip
def test_a_stop_without_a_named_cause_is_as_bad_as_it_is_certain(
    story, places, found, kind, score, severity
):
    story.at(60, found(kind, places.job, 40.0, score=score))
    assert ("unknown", severity) == (
        story.now.root_cause.hypotheses[0].fault, story.now.severity,
    )  # fmt: skip


@pytest.mark.parametrize(("score", "severity"), [(3.0, "critical"), (1.5, "warning")])
def test_a_lost_host_is_as_bad_as_its_fault_once_it_is_certain(
    story, places, found, score, severity
):
    story.at(60, found("host.silent", places.hosts["host-b"], 40.0, score=score))
    assert ("host.lost", severity) == (
        story.now.root_cause.hypotheses[0].fault, story.now.severity,
    )  # fmt: skip


def test_a_job_that_is_gone_costs_no_more_and_is_no_longer_refreshed(story, places, found):
    bad = (
        found("job.nonfinite", places.job, 40.0),
        found("rank.first_nonfinite", places.rank_entity(1), 40.0),
    )
    updates = [now for now in range(60, 700) if story.at(now, *bad, silent=max(now - 70.0, 0.0))]
    assert [60, *range(70, 370, 30)] == updates
    story.at(701, *bad, found("job.stalled", places.job, 60.0), silent=631.0)
    assert 4 * (370 - 40) == story.now.impact.gpu_seconds_lost


def test_a_second_symptom_is_told_in_the_timeline_and_not_to_people(story, slow, stuck):
    story.at(60, *slow)
    change = story.at(61, *slow, stuck(1.0)[0])
    assert ("incident.updated", False) == (change.kind, change.notify)
    assert ["opened", "symptom"] == [moment.kind for moment in change.incident.timeline]
    assert ["job.slow", "job.stalled"] == [s.kind for s in change.incident.symptoms]


def test_a_symptom_keeps_its_first_onset_and_shows_its_newest_size(story, places, found):
    story.at(60, found("job.slow", places.job, 40.0, magnitude=1.2))
    story.at(101, found("job.slow", places.job, 45.0, magnitude=1.5, text="now half as slow again"))
    (symptom,) = story.now.symptoms
    assert (START + 40, 1.5, "now half as slow again") == (
        symptom.onset, symptom.magnitude, symptom.text,
    )  # fmt: skip


def test_the_id_is_the_same_through_the_whole_story_and_in_every_telling(
    story, slow, stuck, places, health
):
    for now in (60, 70, 101):
        story.at(now, *slow)
    story.at(140)
    again = Story(places, health)
    again.at(63, *slow)
    assert 1 == len({change.incident.id for change in (*story.changes, *again.changes)})
    other = Story(places, health)
    other.at(60, *stuck(1.0), stepped=40)
    assert other.now.id != story.now.id


def test_while_provisional_another_first_cause_takes_over_at_once(story, places, found, slow):
    story.at(60, slow[0])
    change = story.at(61, *slow)
    assert "host.cpu_contention" == change.incident.root_cause.hypotheses[0].fault
    assert "first cause is now host.cpu_contention (host host-b)" in [
        moment.text for moment in change.incident.timeline
    ]


def test_people_hear_once_that_the_first_cause_changed(story, places, found, slow):
    hot = (slow[0], slow[1], found("gpu.throttled", places.devices[2]))
    for now, findings in ((60, slow), (61, hot), (62, slow), (63, hot)):
        story.at(now, *findings)
    assert ["opened", "updated"] == story.valid


def test_a_stable_cause_gives_way_only_to_one_that_leads_and_lasts(story, places, found, slow):
    for now in (60, 70):
        story.at(now, *slow)
    stable = explain(slow, places)
    rival = explain((slow[0], slow[1], found("gpu.throttled", places.devices[2])), places)

    def scored(cause, score):
        first = replace(cause.hypotheses[0], score=score)
        return replace(cause, hypotheses=(first, *cause.hypotheses[1:]))

    known = stable.hypotheses[0].score
    weak, strong = scored(rival, known + 0.4), scored(rival, known + 2)
    story.at(71, *slow, cause=weak)
    story.at(72, *slow, cause=strong)
    story.at(74, *slow, cause=weak)
    story.at(75, *slow, cause=strong)
    story.at(79, *slow, cause=strong)
    assert "host.cpu_contention" == story.now.root_cause.hypotheses[0].fault
    story.at(80, *slow, cause=strong)
    assert "gpu.thermal_throttle" == story.now.root_cause.hypotheses[0].fault
    assert "provisional" == story.now.root_cause.status


def test_a_stable_cause_is_told_anew_where_its_evidence_grew(story, slow):
    weak = (*slow[:-1], replace(slow[-1], score=1.0))
    for now in (60, 70):
        story.at(now, *weak)
    before = story.now.root_cause
    assert None is story.at(71, *weak)
    story.at(72, *slow)
    assert story.now.root_cause.hypotheses[0].score > before.hypotheses[0].score
    assert "stable" == story.now.root_cause.status


def test_an_incident_ends_when_its_symptoms_are_gone_and_steps_go_on(story, slow):
    story.at(60, *slow)
    assert [None] * 29 == [story.at(now) for now in range(61, 90)]
    change = story.at(90)
    assert ("incident.resolved", "resolved", True) == (
        change.kind, change.incident.status, change.notify,
    )  # fmt: skip
    assert START + 60 == change.incident.resolved_at
    assert "training goes on" == change.incident.timeline[-1].text


def test_nobody_hears_the_end_of_what_they_were_never_told(story, stuck):
    story.at(52, *stuck(1.0), stepped=40)
    assert ("incident.resolved", False) == (
        (change := story.at(90)).kind, change.notify,
    )  # fmt: skip


def test_a_stalled_job_that_says_no_more_is_not_called_well(story, stuck):
    story.at(60, *stuck(3.0), stepped=40)
    assert None is story.at(500, stepped=40, silent=440.0)


def test_a_slow_job_that_ended_is_resolved_when_it_has_long_been_silent(story, slow):
    story.at(60, *slow)
    assert None is story.at(300, stepped=58, silent=240.0)
    change = story.at(365, stepped=58, silent=305.0)
    assert "the job has ended" == change.incident.timeline[-1].text


def test_a_new_attempt_ends_the_incident_of_the_old_one(story, stuck):
    story.at(60, *stuck(3.0), stepped=40)
    assert "incident.resolved" == story.at(95, stepped=-1000, attempt=1).kind


def test_after_its_end_nothing_changes_an_incident(story, slow):
    story.at(60, *slow)
    story.at(90)
    assert None is story.at(91, *slow)
    assert None is story.at(200)
