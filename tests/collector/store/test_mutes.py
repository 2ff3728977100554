"""Silences and maintenance hold deliveries back, never incidents."""

import pytest

from rankscope.alerts.actions import PersonAction
from rankscope.alerts.notify.routing import RouteMatcher
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.store import mutes
from rankscope.collector.store.mutes import DeliveryMute

T0 = 1_700_000_000.0


@pytest.fixture
def mute(store):
    """Return a function that silences what fits the matchers, for a time range from T0 on."""

    def add(*matchers, kind="silence", seconds=100.0):
        given = DeliveryMute("", kind, matchers, T0, T0 + seconds, "ada", "rack work", T0)
        entered = RecordedAction.new(PersonAction(kind, None, T0, "ada", mutes.detail(given)))
        store.enter(entered, [], T0)
        return entered.id

    return add


def test_a_silenced_incident_is_opened_and_its_message_recorded_as_suppressed(
    store, add_webhook, changed, queued, mute
):
    add_webhook()
    silence = mute(RouteMatcher("host", ("gpu-*",)))
    store.commit([changed("opened")], T0 + 1)
    assert len(store.incidents().items) == 1
    assert queued() == [("opened", "suppressed")]
    assert store.deliveries("wh_1")[0].last_error == f"silence {silence}"
    assert store.waiting(T0 + 1000) == []


@pytest.mark.parametrize(
    ("matchers", "state"),
    [
        ([RouteMatcher("job", ("run-?",))], "suppressed"),
        ([RouteMatcher("job", ("other", "run-1"))], "suppressed"),
        ([RouteMatcher("job", ("run-2",))], "pending"),
        ([RouteMatcher("job", ("run-1",), negate=True)], "pending"),
        ([RouteMatcher("job", ("run-2",), negate=True)], "suppressed"),
        ([RouteMatcher("job", ("run-1",)), RouteMatcher("severity", ("info",))], "pending"),
        ([RouteMatcher("fault", ("host.*",)), RouteMatcher("cluster", ("c1",))], "suppressed"),
        ([RouteMatcher("entity", ("rank 3",))], "suppressed"),
        ([RouteMatcher("entity", ("Rank 3",))], "pending"),
    ],
)
def test_every_matcher_must_fit(store, add_webhook, changed, queued, mute, matchers, state):
    add_webhook()
    mute(*matchers)
    store.commit([changed("opened")], T0 + 1)
    assert queued() == [("opened", state)]


@pytest.mark.parametrize("at", [T0 - 1, T0 + 100])
def test_a_silence_holds_from_its_start_up_to_its_end(
    store, add_webhook, changed, queued, mute, at
):
    add_webhook()
    mute(RouteMatcher("job", ("*",)))
    store.commit([changed("opened")], at)
    assert queued() == [("opened", "pending")]


def test_who_was_never_told_that_it_began_is_not_told_that_it_ended(
    store, add_webhook, changed, queued, mute
):
    add_webhook()
    mute(RouteMatcher("job", ("*",)))
    store.commit([changed("opened")], T0 + 1)
    store.commit([changed("resolved", updated_at=T0 + 200)], T0 + 200)
    assert queued() == [("opened", "suppressed"), ("resolved", "suppressed")]


def test_what_gets_worse_after_the_silence_is_told_as_opened(
    store, add_webhook, changed, queued, mute
):
    add_webhook()
    mute(RouteMatcher("job", ("*",)))
    store.commit([changed("opened", severity="warning")], T0 + 1)
    store.commit([changed("updated", updated_at=T0 + 200)], T0 + 200)
    store.commit([changed("resolved", updated_at=T0 + 300)], T0 + 300)
    assert queued() == [("opened", "suppressed"), ("opened", "pending"), ("resolved", "pending")]


def test_maintenance_holds_what_concerns_its_hosts_and_ends_when_deleted(
    store, add_webhook, changed, queued, mute
):
    add_webhook()
    window = mute(RouteMatcher("host", ("gpu-1",)), kind="maintenance")
    store.commit([changed("opened"), changed("opened", identity="b", host="gpu-2")], T0 + 1)
    assert queued() == [("opened", "suppressed"), ("opened", "pending")]
    ending = PersonAction("unsilence", None, T0 + 2, "ada", {"mute": window})
    store.enter(RecordedAction.new(ending), [], T0 + 2)
    store.commit([changed("opened", identity="c")], T0 + 2)
    assert queued()[-1] == ("opened", "pending")


def test_an_entry_that_is_read_again_makes_no_second_silence(store):
    given = DeliveryMute(
        "", "silence", (RouteMatcher("job", ("*",)),), T0, T0 + 9, "ada", "rack work", T0
    )
    entered = RecordedAction.new(PersonAction("silence", None, T0, "ada", mutes.detail(given)))
    for _ in range(2):
        store.enter(entered, [], T0)
    assert [row.id for row in store.mutes("silence")] == [entered.id]
