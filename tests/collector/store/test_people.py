"""What people do lies over the machine's document and never changes it."""

import pytest

from rankscope.collector.store.documents import Action
from rankscope.collector.store.errors import UnknownIdError

T0 = 1_700_000_000.0
ID = "a1".ljust(20, "0")


def test_acknowledging_changes_the_status_and_tells_it_once(store, add_webhook, changed, queued):
    add_webhook()
    store.commit([changed("opened")], T0)
    for _ in range(2):
        document = store.act(ID, Action("ack", T0 + 30, "ada", "on it"))
    assert document["status"] == "acknowledged"
    assert document["handling"]["acknowledged"] == {
        "at": "2023-11-14T22:13:50.000Z",
        "by": "ada",
        "note": "on it",
    }
    assert queued() == [("opened", "pending"), ("acknowledged", "pending")]


def test_an_acknowledged_incident_stays_so_while_the_machine_goes_on(store, changed):
    store.commit([changed("opened")], T0)
    store.act(ID, Action("ack", T0 + 30, "ada"))
    store.commit([changed("updated", updated_at=T0 + 40, summary="worse")], T0 + 40)
    document = store.incident(ID)
    assert (document["status"], document["summary"]) == ("acknowledged", "worse")
    store.commit([changed("resolved", updated_at=T0 + 90)], T0 + 90)
    assert store.incident(ID)["status"] == "resolved"


def test_after_people_resolved_it_nobody_hears_more(store, add_webhook, changed, queued):
    add_webhook()
    store.commit([changed("opened")], T0)
    store.act(ID, Action("resolve", T0 + 30, "ada"))
    store.commit([changed("updated", updated_at=T0 + 40)], T0 + 40)
    store.commit([changed("resolved", updated_at=T0 + 90)], T0 + 90)
    assert queued() == [("opened", "pending"), ("resolved", "pending")]
    document = store.incident(ID)
    assert (document["status"], document["resolved_at"]) == ("resolved", "2023-11-14T22:13:50.000Z")


def test_a_confirmed_cause_is_shown_as_confirmed_and_the_other_verdicts_are_not(store, changed):
    store.commit([changed("opened")], T0)
    wrong = {"verdict": "wrong", "fault": "gpu.slow", "entity": "gpu 7"}
    document = store.act(ID, Action("feedback", T0 + 30, "ada", "no", wrong))
    assert document["root_cause"]["status"] == "provisional"
    assert document["handling"]["feedback"][0]["fault"] == "gpu.slow"
    right = {"verdict": "correct", "fault": None, "entity": None}
    document = store.act(ID, Action("feedback", T0 + 40, "bob", "", right))
    assert document["root_cause"]["status"] == "confirmed"


def test_the_timeline_tells_of_machine_and_people_in_order(store, changed):
    store.commit([changed("opened")], T0)
    store.act(ID, Action("assign", T0 + 30, "ada", "", {"assignee": "bob"}))
    store.act(ID, Action("ack", T0 + 20, "ada"))
    valid = [(row["kind"], row["text"]) for row in store.incident(ID)["timeline"]]
    assert valid == [
        ("opened", "1.5 x slower"),
        ("acknowledged", "acknowledged by ada"),
        ("assigned", "assigned to bob by ada"),
    ]
    assert store.incident(ID)["updated_at"] == "2023-11-14T22:13:50.000Z"


def test_nothing_can_be_done_about_an_incident_that_is_not_there(store):
    with pytest.raises(UnknownIdError, match="no incident nope"):
        store.act("nope", Action("ack", T0, "ada"))
