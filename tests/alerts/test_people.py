"""What people do is an input like any other: it changes the incident, and what is said next."""

import pytest

from rankscope.alerts.actions import ACTION_KINDS, PersonAction
from rankscope.alerts.policy import IncidentPolicy
from rankscope.alerts.tracker import IncidentTracker
from rankscope.vocabulary.ids import IncidentId

START = 1_700_000_000.0


@pytest.fixture
def opened(evaluated, contended):
    """Return the id of an open incident of a slow job, stable since 70 s."""
    (change,) = evaluated(60, *contended())
    evaluated(70, *contended())
    return change.incident.id


@pytest.fixture
def did(tracker):
    """Return a function that does something about an incident at a second after START."""

    def act(kind, incident, now, **detail):
        return tracker.act(PersonAction(kind, incident, START + now, "ada", detail), START + now)

    return act


def test_acknowledging_is_a_change_of_its_own(did, opened, tracker, valid_incident):
    (change,) = did("acknowledge", opened, 75, note="looking")
    assert ("incident.acknowledged", "acknowledged", True) == (
        change.kind, change.incident.status, change.notify,
    )  # fmt: skip
    document = change.incident.document()
    valid_incident(document)
    assert {"by": "ada", "note": "looking"}.items() <= document["handling"]["acknowledged"].items()
    assert "acknowledged by ada: looking" == document["timeline"][-1]["text"]
    assert change.incident == tracker.incidents[opened]


def test_acknowledging_twice_changes_nothing(did, opened):
    did("acknowledge", opened, 75)
    assert [] == did("acknowledge", opened, 76)


def test_an_acknowledged_incident_stays_so_until_it_ends(did, opened, evaluated, contended):
    did("acknowledge", opened, 75)
    (change,) = evaluated(106, *contended())
    assert "acknowledged" == change.incident.status
    assert "incident.resolved" == evaluated(140)[0].kind


def test_assigning_and_feedback_are_shown_and_sent_to_nobody(did, opened, valid_incident):
    (assigned,) = did("assign", opened, 75, assignee="bob")
    (given,) = did("feedback", opened, 76, verdict="correct")
    assert (False, False) == (assigned.notify, given.notify)
    document = given.incident.document()
    valid_incident(document)
    assert ("bob", ["correct"], "confirmed") == (
        document["handling"]["assignee"],
        [row["verdict"] for row in document["handling"]["feedback"]],
        document["root_cause"]["status"],
    )


def test_feedback_says_what_it_really_was(did, opened):
    (change,) = did("feedback", opened, 76, verdict="wrong", fault="gpu.slow", entity="GPU-2")
    assert "ada: the first cause is wrong, it was gpu.slow" == change.incident.timeline[-1].text
    assert "confirmed" != change.incident.root_cause.status


def test_feedback_on_a_resolved_incident_is_taken(did, opened, evaluated):
    evaluated(105)
    (change,) = did("feedback", opened, 200, verdict="correct")
    assert ("resolved", "confirmed") == (
        change.incident.status, change.incident.root_cause.status,
    )  # fmt: skip


def test_what_a_person_resolved_stays_quiet_while_it_lasts(did, opened, evaluated, contended):
    (change,) = did("resolve", opened, 75)
    assert ("incident.resolved", "resolved", START + 75, True) == (
        change.kind, change.incident.status, change.incident.resolved_at, change.notify,
    )  # fmt: skip
    assert [] == [c for now in range(76, 1200) for c in evaluated(now, *contended())]


def test_it_is_reopened_when_it_went_away_and_returned(did, opened, evaluated, contended):
    did("resolve", opened, 75)
    for now in (*range(76, 80), *range(200, 202)):
        changes = evaluated(now, *(contended() if now < 80 else contended(198.0)))
        if changes:
            break
    assert (200, "incident.updated", "open", True) == (
        now, changes[0].kind, changes[0].incident.status, changes[0].notify,
    )  # fmt: skip


def test_a_person_resolves_then_the_job_hangs_and_people_are_notified(
    did, opened, evaluated, contended, stuck, tracker
):
    did("resolve", opened, 75)
    for now in range(76, 90):
        evaluated(now, *contended())
    changes = []
    for now in range(90, 130):
        score = 1.0 if now < 100 else 3.0
        changes += evaluated(now, *contended(), *stuck(88.0, score=score), stepped=88.0)
    critical = [c for c in changes if c.notify and c.incident.severity == "critical"]
    assert 1 == len(critical)
    assert "software.stuck_process" == critical[0].incident.root_cause.hypotheses[0].fault
    assert "resolved" == tracker.incidents[opened].status


def test_a_hang_that_a_person_resolved_too_early_is_reopened_when_it_gets_critical(
    did, evaluated, stuck
):
    (change,) = evaluated(52, *stuck(score=1.0), stepped=40.0)
    did("resolve", change.incident.id, 55)
    changes = []
    for now in range(56, 80):
        score = 1.0 if now < 70 else 3.0
        changes += evaluated(now, *stuck(score=score), stepped=40.0)
    assert [("incident.updated", "open", "critical", True)] == [
        (c.kind, c.incident.status, c.incident.severity, c.notify) for c in changes[:1]
    ]
    assert change.incident.id == changes[0].incident.id


def test_resolving_twice_and_what_concerns_no_known_incident_change_nothing(did, opened):
    did("resolve", opened, 75)
    assert [] == did("resolve", opened, 76)
    assert [] == did("acknowledge", opened, 76)
    assert [] == did("acknowledge", IncidentId("nowhere"), 76)
    assert [] == did("silence", None, 76)
    assert [] == did("maintenance", opened, 76)


@pytest.mark.parametrize("kind", ACTION_KINDS)
def test_an_action_is_the_same_after_the_journal(kind):
    action = PersonAction(kind, IncidentId("abc"), START, "ada", {"note": "n", "verdict": "wrong"})
    assert action == PersonAction.parse(action.document())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "praise"}, "is not an action"),
        ({"at": "noon"}, "number of seconds"),
        ({"by": None}, "a name"),
        ({"incident": 7}, "an id or null"),
        ({"detail": []}, "an object"),
    ],
)
def test_what_is_no_action_is_refused(change, why):
    good = PersonAction("resolve", None, START, "ada").document()
    with pytest.raises(ValueError, match=why):
        PersonAction.parse({**good, **change})


@pytest.mark.parametrize("field", ["kind", "at", "by"])
def test_an_action_without_a_field_is_refused(field):
    document = PersonAction("resolve", None, START, "ada").document()
    del document[field]
    with pytest.raises(ValueError, match=field):
        PersonAction.parse(document)


def test_feedback_can_be_withdrawn(did, opened):
    assert [] == did("withdraw", opened, 75)
    did("feedback", opened, 76, verdict="correct")
    (change,) = did("withdraw", opened, 77, note="the other rack")
    assert ((), False) == (change.incident.handling.feedback, change.notify)
    assert "confirmed" != change.incident.root_cause.status
    expected = "ada withdrew the feedback of ada: the other rack"
    assert expected == change.incident.timeline[-1].text


class TestSlownessWithoutACause:
    """Once a person has resolved it: what it had cost by then says how bad it is."""

    @pytest.fixture
    def tracker(self):
        return IncidentTracker(IncidentPolicy(unnamed_gpu_hours=1.0, unnamed_minutes=5.0))

    @pytest.fixture
    def slow(self, topology, found):
        return found("job.slow", topology.job_entity, 40.0, magnitude=1.2)

    @pytest.fixture
    def little(self, evaluated, contended):
        """Return the id of an incident of level info, for its cause is named."""
        (change,) = evaluated(60, *contended(score=0.9))
        assert "info" == change.incident.severity
        return change.incident.id

    def test_what_was_info_is_not_reopened_as_what_it_is_not(self, did, little, evaluated, slow):
        did("resolve", little, 75)
        assert [] == [change for now in range(76, 1200) for change in evaluated(now, slow)]

    def test_what_is_worse_whatever_it_cost_is(self, did, little, evaluated, slow, contended):
        did("resolve", little, 75)
        (change,) = [c for now in range(76, 80) for c in evaluated(now, *contended(), slow)]
        assert ("warning", "worse since it was resolved: warning") == (
            change.incident.severity,
            next(row.text for row in change.incident.timeline if row.kind == "reopened"),
        )


def test_what_the_collector_did_about_it_stands_in_the_timeline_once(did, opened):
    (change,) = did("remedy", opened, 75, note="taking gpu-1 out: done", action="ab12")
    assert ("incident.updated", "open", False) == (
        change.kind, change.incident.status, change.notify,
    )  # fmt: skip
    moment = change.incident.document()["timeline"][-1]
    assert ("action", "taking gpu-1 out: done") == (moment["kind"], moment["text"])
    assert [] == did("remedy", opened, 75, note="taking gpu-1 out: done", action="ab12")
