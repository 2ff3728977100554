"""Two collectors on one PostgreSQL: one row an incident, one message, and none lost with either."""

import contextlib
import random
import threading
import time

import pytest
from sqlalchemy import update
from tests.clocks import SetClock

from rankscope.alerts.ports import DeliveryOutcome, NotifiedEndpoint
from rankscope.collector.store import IncidentDatabaseStore, endpoints
from rankscope.collector.store.claims import LEASE_SECONDS
from rankscope.collector.store.deliver import OutboxDeliverer
from rankscope.collector.store.tables import claims

T0 = 1_700_000_000.0


@pytest.fixture
def pair(emptied):
    """Return two stores of one database, as two collectors open them at the same time."""
    with _opened(emptied()) as stores:
        yield stores


@pytest.fixture
def pair_of_a_new_one(postgresql):
    """Return two stores of a database that both found without tables."""
    url = postgresql.new()
    with _opened(url) as stores:
        yield stores
    postgresql.drop(url)


@contextlib.contextmanager
def _opened(url):
    opened: dict[str, IncidentDatabaseStore] = {}

    def start(name: str) -> None:
        opened[name] = IncidentDatabaseStore(url, owner=name)

    threads = [threading.Thread(target=start, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield opened["a"], opened["b"]
    for store in opened.values():
        store.close()


def _add(store, identity="wh_1", url="http://127.0.0.1:9/hook", secret=None):
    secret = secret or endpoints.new_secret()
    store.add_webhook(NotifiedEndpoint(id=identity, url=url, secret=secret, format="standard"), T0)


def _next(store, now=T0 + 1, endpoint="wh_1"):
    found = store.next_delivery(endpoint, now)
    return None if found is None else found[1]


def _pass(store, seconds):
    """Let the claims be so many seconds older: their time is the database's, which none can set."""
    with store._database.claim() as db:
        _pass_in(db, seconds)


def _pass_in(db, seconds):
    db.execute(update(claims).values(until=claims.c.until - seconds))


def test_an_incident_that_both_commit_at_once_is_one_row_and_one_message(
    pair_of_a_new_one, changed
):
    pair = pair_of_a_new_one
    _add(pair[0])
    failures = []

    def commit(store):
        try:
            for number in range(20):
                store.commit([changed("opened", identity=f"{number:020}")], T0)
                later = changed("updated", identity=f"{number:020}", updated_at=T0 + 30)
                store.commit([later], T0 + 30)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=commit, args=(store,)) for store in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(pair[0].incidents(limit=100).items) == 20
    rows = pair[1].deliveries("wh_1", limit=1000)
    assert len(rows) == len({row.webhook_id for row in rows}) == 40


def test_an_endpoint_that_one_delivers_to_is_left_alone_by_the_other(pair, changed):
    one, other = pair
    _add(one)
    one.commit([changed("opened", identity="x"), changed("opened", identity="y")], T0)
    under_way = _next(one)
    assert under_way is not None
    assert _next(other) is None
    one.delivered("wh_1", under_way, DeliveryOutcome(204), T0 + 2)
    second = _next(one, T0 + 2)
    assert second.webhook_id != under_way.webhook_id
    one.delivered("wh_1", second, DeliveryOutcome(204), T0 + 3)
    assert _next(one, T0 + 3) is None
    # Nothing is due: the claim is given back, and the next message may be the other's.
    other.commit([changed("opened", identity="z")], T0 + 4)
    assert _next(other, T0 + 4) is not None
    assert _next(one, T0 + 4) is None


def test_what_a_dead_collector_had_under_way_is_taken_over_when_its_lease_ends(pair, changed):
    dead, other = pair
    _add(dead)
    dead.commit([changed("opened")], T0)
    under_way = _next(dead, T0 + 1)
    _pass(dead, LEASE_SECONDS - 30)
    assert _next(other) is None
    _pass(dead, 30)
    taken = _next(other)
    assert taken.webhook_id == under_way.webhook_id
    # It was only asleep: what it notes now does no harm, and it has lost the endpoint.
    dead.delivered("wh_1", under_way, DeliveryOutcome(204), T0 + 70)
    assert _next(dead, T0 + 70) is None
    assert [row.state for row in other.deliveries("wh_1")] == ["delivered"]


@pytest.mark.parametrize("ahead_seconds", [-600.0, 600.0])
def test_a_collector_whose_clock_is_minutes_off_leaves_the_others_endpoints_alone(
    pair, changed, ahead_seconds
):
    """Neither takes it what another is sending, nor may another take what it is sending."""
    one, other = pair
    _add(one)
    one.commit([changed("opened")], T0)
    assert _next(one, T0 + 700 + ahead_seconds) is not None
    assert _next(other, T0 + 700) is None


def test_a_collector_that_starts_again_goes_on_with_its_own_claim(emptied, changed):
    url = emptied()
    killed = IncidentDatabaseStore(url, owner="a")
    _add(killed)
    killed.commit([changed("opened")], T0)
    under_way = _next(killed)
    again = IncidentDatabaseStore(url, owner="a")
    assert _next(again).webhook_id == under_way.webhook_id
    again.close()
    killed.close()


def test_a_row_that_another_looks_at_right_now_is_not_waited_for(pair, changed):
    one, other = pair
    _add(one)
    one.commit([changed("opened")], T0)
    under_way = _next(one)
    one.failed("wh_1", under_way, DeliveryOutcome(503), due_at=T0 + 2, now=T0 + 1)
    with one._database.claim() as db:
        db.exec_driver_sql("SELECT 1 FROM claims FOR UPDATE")
        _pass_in(db, LEASE_SECONDS)
        assert _next(other) is None


def test_two_deliverers_send_every_message_once_and_in_order(pair, changed, new_receiver):
    receivers = [new_receiver() for _ in range(3)]
    for number, receiver in enumerate(receivers):
        _add(pair[0], f"wh_{number}", receiver.url, receiver.secret)
    clock = SetClock(time.time())  # receivers refuse what was signed long ago
    deliverers = [
        OutboxDeliverer(outbox=store, clock=clock, chance=random.Random(0)) for store in pair
    ]
    for number in range(12):
        for turn, kind in enumerate(("opened", "updated", "resolved")):
            change = changed(kind, identity=f"{number:020}", updated_at=T0 + 30 * turn)
            pair[number % 2].commit([change], T0)
    while pair[0].queue().messages["pending"]:
        for deliverer in deliverers:
            deliverer.run_once(clock.now())
        for deliverer in deliverers:
            deliverer.settle()
        clock.at += 1.0
    for deliverer in deliverers:
        deliverer.stop()
    for receiver in receivers:
        assert len(receiver.ids) == len(set(receiver.ids)) == 36
        for number in range(12):
            mine = [
                row.body["type"]
                for row in receiver.got
                if row.body["data"]["id"] == f"{number:020}"
            ]
            assert mine == ["incident.opened", "incident.updated", "incident.resolved"]
