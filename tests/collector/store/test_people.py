"""What people do to incidents that the state machine has given up: over its document, once each."""

import pytest

from rankscope.alerts.actions import PersonAction
from rankscope.collector.journal.actions import RecordedAction
from rankscope.vocabulary.ids import IncidentId

T0 = 1_700_000_000.0
ID = IncidentId("a1".ljust(20, "0"))


@pytest.fixture
def act(store):
    """Return a function that enters an action which changed nothing in the state machine."""

    def enter(kind, at, by, note="", **detail):
        action = PersonAction(kind, ID, at, by, {"note": note, **detail})
        store.enter(RecordedAction.new(action), [], at)
        return store.incident(ID)

    return enter


def test_acknowledging_changes_the_status_and_tells_it_once(
    store, add_webhook, changed, queued, act
):
    add_webhook()
    store.commit([changed("opened")], T0)
    for _ in range(2):
        document = act("acknowledge", T0 + 30, "ada", "on it")
    assert document["status"] == "acknowledged"
    assert document["handling"]["acknowledged"] == {
        "at": "2023-11-14T22:13:50.000Z",
        "by": "ada",
        "note": "on it",
    }
    assert queued() == [("opened", "pending"), ("acknowledged", "pending")]


def test_an_acknowledged_incident_stays_so_while_the_machine_goes_on(store, changed, act):
    store.commit([changed("opened")], T0)
    act("acknowledge", T0 + 30, "ada")
    store.commit([changed("updated", updated_at=T0 + 40, summary="worse")], T0 + 40)
    document = store.incident(ID)
    assert (document["status"], document["summary"]) == ("acknowledged", "worse")
    store.commit([changed("resolved", updated_at=T0 + 90)], T0 + 90)
    assert store.incident(ID)["status"] == "resolved"


def test_after_people_resolved_it_nobody_hears_more(store, add_webhook, changed, queued, act):
    add_webhook()
    store.commit([changed("opened")], T0)
    act("resolve", T0 + 30, "ada")
    store.commit([changed("updated", updated_at=T0 + 40)], T0 + 40)
    store.commit([changed("resolved", updated_at=T0 + 90)], T0 + 90)
    assert queued() == [("opened", "pending"), ("resolved", "pending")]
    document = store.incident(ID)
    assert (document["status"], document["resolved_at"]) == ("resolved", "2023-11-14T22:13:50.000Z")


def test_a_confirmed_cause_is_shown_as_confirmed_and_the_other_verdicts_are_not(
    store, changed, act
):
    store.commit([changed("opened")], T0)
    wrong = {"verdict": "wrong", "fault": "gpu.slow", "entity": "gpu 7"}
    document = act("feedback", T0 + 30, "ada", "no", **wrong)
    assert document["root_cause"]["status"] == "provisional"
    assert document["handling"]["feedback"][0]["fault"] == "gpu.slow"
    right = {"verdict": "correct", "fault": None, "entity": None}
    document = act("feedback", T0 + 40, "bob", "", **right)
    assert document["root_cause"]["status"] == "confirmed"


def test_the_timeline_tells_of_machine_and_people_in_order(store, changed, act):
    store.commit([changed("opened")], T0)
    act("assign", T0 + 30, "ada", "", assignee="bob")
    act("acknowledge", T0 + 20, "ada")
    valid = [(row["kind"], row["text"]) for row in store.incident(ID)["timeline"]]
    assert valid == [
        ("opened", "1.5 x slower"),
        ("acknowledged", "acknowledged by ada"),
        ("assigned", "assigned to bob by ada"),
    ]
    assert store.incident(ID)["updated_at"] == "2023-11-14T22:13:50.000Z"


def test_an_entry_that_is_read_again_is_kept_and_notified_once(store, add_webhook, changed, queued):
    add_webhook()
    store.commit([changed("opened")], T0)
    entered = RecordedAction.new(PersonAction("acknowledge", ID, T0 + 30, "ada", {"note": "on it"}))
    for _ in range(2):
        store.enter(entered, [], T0 + 30)
    assert queued() == [("opened", "pending"), ("acknowledged", "pending")]


def test_an_action_about_an_incident_that_is_not_there_is_passed_over(store):
    store.enter(
        RecordedAction.new(PersonAction("acknowledge", IncidentId("nope"), T0, "ada")), [], T0
    )
    assert store.incidents().items == []


def test_what_the_state_machine_made_of_an_action_is_what_is_shown(
    store, add_webhook, changed, queued
):
    """It resolved the incident and later opened it again: no older action says otherwise."""
    add_webhook()
    store.commit([changed("opened")], T0)
    resolve = RecordedAction.new(PersonAction("resolve", ID, T0 + 30, "ada"))
    store.enter(resolve, [changed("resolved", updated_at=T0 + 30)], T0 + 30)
    assert store.incident(ID)["status"] == "resolved"
    store.commit([changed("updated", updated_at=T0 + 60)], T0 + 60)
    assert (store.incident(ID)["status"], store.incident(ID)["resolved_at"]) == ("open", None)
    assert [kind for kind, _ in queued()] == ["opened", "resolved", "updated"]
