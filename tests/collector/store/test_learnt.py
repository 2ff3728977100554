"""What people confirmed: one fault an incident, by its last feedback, until it is withdrawn."""

from collections.abc import Mapping

import pytest

from rankscope.alerts.actions import PersonAction
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.vocabulary.ids import IncidentId

T0 = 1_700_000_000.0
CABLE = "network.cable_errors"


@pytest.fixture
def act(store):
    """Return a function that enters an action about an incident, by the beginning of its id."""

    def enter(kind, at, identity="a1", **detail):
        incident = None if kind == "forget" else IncidentId(identity.ljust(20, "0"))
        entered = RecordedAction.new(
            PersonAction(kind, incident, at, "ada", {"note": "", **detail})
        )
        store.enter(entered, [], at)
        return entered

    return enter


@pytest.fixture
def rate(act):
    """Return a function that gives feedback on an incident."""

    def give(at, verdict, fault=None, identity="a1"):
        return act("feedback", at, identity, verdict=verdict, fault=fault, entity=None)

    return give


@pytest.fixture(autouse=True)
def _opened(store, changed):
    store.commit([changed("opened"), changed("opened", identity="b2")], T0)


def test_a_right_first_cause_confirms_its_fault(store, rate):
    rate(T0 + 10, "correct")
    assert {"host.cpu_contention": 1} == store.confirmed()


def test_a_wrong_one_confirms_what_it_really_was(store, rate):
    rate(T0 + 10, "wrong", CABLE)
    rate(T0 + 11, "wrong", CABLE, identity="b2")
    assert {CABLE: 2} == store.confirmed()


def test_wrong_without_a_fault_unsure_and_unknown_confirm_nothing(store, rate):
    rate(T0 + 10, "wrong")
    rate(T0 + 11, "wrong", "unknown", identity="b2")
    rate(T0 + 12, "correct")
    rate(T0 + 13, "unsure")
    assert {} == store.confirmed()


def test_the_last_feedback_counts_and_each_incident_once(store, rate):
    rate(T0 + 10, "correct")
    rate(T0 + 11, "wrong", CABLE)
    rate(T0 + 12, "wrong", CABLE)
    assert {CABLE: 1} == store.confirmed()


def test_what_is_withdrawn_leaves_what_was_said_before(store, rate, act):
    rate(T0 + 10, "correct")
    rate(T0 + 11, "wrong", CABLE)
    act("withdraw", T0 + 12)
    assert {"host.cpu_contention": 1} == store.confirmed()
    document = store.incident("a1".ljust(20, "0"))
    assert ["correct"] == [row["verdict"] for row in document["handling"]["feedback"]]
    assert "confirmed" == document["root_cause"]["status"]
    assert "ada withdrew the last feedback" == document["timeline"][-1]["text"]
    act("withdraw", T0 + 13)
    assert {} == store.confirmed()
    assert "confirmed" != store.incident("a1".ljust(20, "0"))["root_cause"]["status"]


def test_a_reset_forgets_what_was_before_it(store, rate, act):
    rate(T0 + 10, "correct")
    act("forget", T0 + 20)
    assert {} == store.confirmed()
    rate(T0 + 30, "correct", identity="b2")
    assert {"host.cpu_contention": 1} == store.confirmed()


def test_an_action_that_is_read_again_counts_once(store, rate):
    entered = rate(T0 + 10, "correct")
    store.enter(entered, [], T0 + 10)
    assert {"host.cpu_contention": 1} == store.confirmed()


def test_it_outlives_the_incident(store, rate, changed):
    rate(T0 + 10, "correct")
    store.commit([changed("resolved", updated_at=T0 + 60)], T0 + 60)
    assert 1 == store.trim_incidents(before=T0 + 100)
    assert {"host.cpu_contention": 1} == store.confirmed()


def test_who_learns_is_called_now_and_at_every_change(store, rate, act):
    got: list[Mapping[str, int]] = []
    store.subscribe_learnt(got.append)
    rate(T0 + 10, "correct")
    act("assign", T0 + 11, assignee="bob")
    act("forget", T0 + 20)
    assert [{}, {"host.cpu_contention": 1}, {}] == got


def test_it_survives_a_restart(store, rate, tmp_path):
    rate(T0 + 10, "correct")
    again = IncidentDatabaseStore(str(store._database.engine.url))
    assert {"host.cpu_contention": 1} == again.confirmed()
    again.close()
