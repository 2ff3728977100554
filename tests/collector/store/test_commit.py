"""Committing changes: kept and queued together, each only once, whatever is repeated."""

import dataclasses

import pytest

from rankscope.alerts import notify
from rankscope.collector.store import IncidentDatabaseStore

T0 = 1_700_000_000.0


def test_an_incident_and_the_messages_about_it_are_kept_together(
    store, add_webhook, changed, queued
):
    add_webhook("wh_1")
    add_webhook("wh_2")
    store.commit([changed("opened")], T0)
    assert store.incident("a1".ljust(20, "0"))["summary"] == "rank 3 is slow"
    assert queued("wh_1") == queued("wh_2") == [("opened", "pending")]


def test_a_message_that_cannot_be_queued_leaves_the_incident_unwritten(
    store, add_webhook, changed, monkeypatch
):
    add_webhook()
    monkeypatch.setattr(notify, "FORMATS", {})
    with pytest.raises(KeyError):
        store.commit([changed("opened")], T0)
    assert store.incidents().items == []
    monkeypatch.undo()
    store.commit([changed("opened")], T0)
    assert len(store.incidents().items) == 1


def test_the_same_change_again_changes_nothing_and_tells_nobody(
    store, add_webhook, changed, queued
):
    add_webhook()
    last_received: list[object] = []
    store.subscribe(last_received.append)
    for _ in range(3):
        store.commit([changed("opened")], T0)
    assert queued() == [("opened", "pending")]
    assert len(last_received) == 1


def test_evaluating_the_last_minutes_again_neither_reopens_nor_tells(
    store, add_webhook, changed, queued
):
    """After a restart windows begin elsewhere: the same seconds give slightly other words."""
    add_webhook()
    story = [
        changed("opened"),
        changed("updated", updated_at=T0 + 20),
        changed("resolved", updated_at=T0 + 90),
    ]
    for change in story:
        store.commit([change], change.incident.updated_at)
    before = store.incidents().items
    for change in story:
        again = dataclasses.replace(change.incident, summary="rank 3 is a little slower")
        store.commit([dataclasses.replace(change, incident=again)], change.incident.updated_at)
    assert store.incidents().items == before
    assert queued() == [("opened", "pending"), ("updated", "pending"), ("resolved", "pending")]


def test_what_a_crash_kept_from_being_committed_is_committed_when_judged_again(
    store, add_webhook, changed, queued
):
    add_webhook()
    store.commit([changed("opened")], T0)
    store.commit([changed("opened"), changed("resolved", updated_at=T0 + 90)], T0 + 90)
    assert queued() == [("opened", "pending"), ("resolved", "pending")]
    assert store.incidents().items[0]["status"] == "resolved"


def test_a_change_that_is_not_worth_telling_is_kept_and_told_to_nobody(
    store, add_webhook, changed, queued
):
    add_webhook()
    store.commit([changed("opened", notify=False)], T0)
    assert (len(store.incidents().items), queued()) == (1, [])


def test_info_pages_nobody_who_did_not_ask_for_it(store, add_webhook, changed, queued):
    """The lifecycle marks info as not worth telling; who names it in severities hears of it."""
    add_webhook("wh_1")
    add_webhook("wh_2", severities=("info",))
    store.commit([changed("opened", severity="info", notify=False)], T0)
    store.commit([changed("updated", severity="info", notify=False, updated_at=T0 + 30)], T0 + 30)
    store.commit([changed("resolved", severity="info", notify=False, updated_at=T0 + 90)], T0 + 90)
    assert queued("wh_1") == []
    assert queued("wh_2") == [("opened", "pending"), ("resolved", "pending")]


def test_the_first_word_is_that_it_opened_even_if_it_began_as_info(
    store, add_webhook, changed, queued
):
    """A hang begins as info: who listens for incident.opened only must not miss it."""
    add_webhook("wh_1", events=("incident.opened",))
    store.commit([changed("opened", severity="info", notify=False)], T0)
    store.commit([changed("updated", severity="critical", updated_at=T0 + 9)], T0 + 9)
    store.commit([changed("updated", severity="critical", updated_at=T0 + 19)], T0 + 19)
    assert queued() == [("opened", "pending")]


def test_an_endpoint_hears_of_its_own_jobs_only(store, add_webhook, changed, queued):
    add_webhook(jobs=("llama-*",))
    store.commit([changed("opened", jobs=("run-1",))], T0)
    store.commit([changed("opened", identity="b", jobs=("run-1", "llama-7"))], T0)
    assert queued() == [("opened", "pending")]


def test_incidents_outlive_the_process(url, changed):
    first = IncidentDatabaseStore(url)
    first.commit([changed("opened")], T0)
    documents = first.incidents().items
    first.close()
    second = IncidentDatabaseStore(url)
    assert second.incidents().items == documents
    second.close()


def test_an_odd_job_id_comes_back_as_it_was(store, changed):
    odd = "team/a b%2F\u00fc\U0001f525'\"\\ \x00end"
    store.commit([changed("opened", jobs=(odd,))], T0)
    assert store.incidents().items[0]["jobs"] == [odd]
