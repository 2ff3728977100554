"""What a restarted collector announces: nothing that is over, and nothing twice."""

import pickle

import pytest

from rankscope.alerts.actions import PersonAction
from rankscope.alerts.closed import ClosedIncident
from rankscope.alerts.tracker import IncidentTracker

START = 1_700_000_000.0


@pytest.fixture
def past(tracker):
    """Return a function that gives what an earlier process has stored about its incidents."""

    def stored():
        return [ClosedIncident.of(row.document()) for row in tracker.incidents.values()]

    return stored


def test_the_middle_of_a_resolved_fault_read_again_is_not_announced(evaluated, contended, past):
    evaluated(60, *contended())
    for now in range(61, 200):
        evaluated(now, *(contended() if now < 135 else ()))
    again = IncidentTracker()
    again.remember(past())
    changes = []
    for now in range(100, 400):  # the journal's last minutes, then live
        bad = contended(99.0) if now < 135 else ()
        changes += evaluated(now, *bad, into=again)
    assert [] == changes


def test_an_open_incident_goes_on_under_its_id(evaluated, contended, past):
    (opened,) = evaluated(60, *contended())
    again = IncidentTracker()
    again.remember(past())
    changes = []
    for now in range(130, 240):
        changes += evaluated(now, *(contended(129.0) if now < 200 else ()), into=again)
    assert {opened.incident.id} == {change.incident.id for change in changes}
    assert opened.incident.opened_at == changes[0].incident.opened_at
    assert "incident.resolved" == changes[-1].kind


def test_what_people_did_about_an_open_incident_goes_on_with_it(
    evaluated, contended, past, tracker
):
    """Whether the journal gives their actions again (one collector) or not (another log)."""
    (opened,) = evaluated(60, *contended())
    did = [
        PersonAction("acknowledge", opened.incident.id, START + 61.0004, "ada", {"note": "on it"}),
        PersonAction("assign", opened.incident.id, START + 62, "ada", {"assignee": "bob"}),
        PersonAction("feedback", opened.incident.id, START + 63, "bob", {"verdict": "correct"}),
    ]
    for action in did:
        tracker.act(action, action.at)
    (held,) = (row.document() for row in tracker.incidents.values())
    again = IncidentTracker()
    again.remember(past())
    for actions in ((), did):
        for action in actions:
            again.act(action, action.at)
        for now in range(70, 150):
            evaluated(now, *contended(69.0), into=again)
        (found,) = (row.document() for row in again.incidents.values())
        assert "acknowledged" == held["status"] == found["status"]
        assert held["handling"] == found["handling"]
        people = {"acknowledged", "assigned", "feedback"}
        assert [row for row in held["timeline"] if row["kind"] in people] == [
            row for row in found["timeline"] if row["kind"] in people
        ]


def test_what_a_person_resolved_before_the_restart_stays_quiet_for_a_while(
    evaluated, contended, past, tracker
):
    (opened,) = evaluated(60, *contended())
    tracker.act(PersonAction("resolve", opened.incident.id, START + 70, "ada"), START + 70)
    again = IncidentTracker()
    again.remember(past())
    assert [] == [c for now in range(70, 200) for c in evaluated(now, *contended(), into=again)]


def test_a_later_fault_is_announced_after_a_restart(evaluated, contended, past):
    evaluated(60, *contended())
    evaluated(95)
    again = IncidentTracker()
    again.remember(past())
    assert ["incident.opened"] == [c.kind for c in evaluated(400, *contended(390.0), into=again)]


def test_a_snapshot_goes_on_as_if_nothing_had_happened(evaluated, contended, tracker):
    evaluated(60, *contended())
    evaluated(65, *contended())
    again = pickle.loads(pickle.dumps(tracker, protocol=5))  # noqa: S301  our own bytes
    for now in range(66, 300):
        bad = contended() if now < 150 else ()
        assert evaluated(now, *bad) == evaluated(now, *bad, into=again)
