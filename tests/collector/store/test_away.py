"""A PostgreSQL that goes away: evaluation goes on, errors name it, and the store catches up."""

import pytest

from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.collector.store.errors import UnusableError
from rankscope.collector.store.storing import StoreThread

T0 = 1_700_000_000.0


@pytest.fixture
def store(postgresql):
    url = postgresql.new()
    opened = IncidentDatabaseStore(url.replace("rankscope@", "rankscope:hunter2@"))
    yield opened
    opened.close()
    postgresql.drop(url)


@pytest.fixture
def away(postgresql):
    """Return a function that stops the server; it is back after the test, whatever happens."""
    yield postgresql.stop
    postgresql.stop()
    postgresql.start()


def test_what_the_database_does_not_take_is_held_and_stored_when_it_is_back(
    postgresql, store, away, changed
):
    storing = StoreThread(store, health=CollectorHealth())
    storing.add([changed("opened", identity="a")], T0)
    assert storing.flush()
    away()
    for turn, identity in enumerate(("b", "c"), start=1):
        storing.add([changed("opened", identity=identity)], T0 + turn)
        assert not storing.flush()
    assert len(storing.held()) == 2
    postgresql.start()
    assert storing.flush()
    assert {row["id"][0] for row in store.incidents().items} == {"a", "b", "c"}


def test_every_question_names_the_database_and_never_its_password(store, away, changed):
    away()
    for asked in (
        store.check,
        store.incidents,
        lambda: store.commit([changed("opened")], T0),
        lambda: store.next_delivery("wh_1", T0),
    ):
        with pytest.raises(UnusableError, match=r"/test_\d+\S* does not answer") as refusal:
            asked()
        assert "hunter2" not in str(refusal.value)
