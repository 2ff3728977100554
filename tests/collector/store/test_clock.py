"""Messages go by the database's clock: a collector's own may be minutes off."""

import time
from dataclasses import dataclass

from tests.clocks import SetClock, ShiftedClock

from rankscope.alerts.ports import NotifiedEndpoint
from rankscope.collector.store.clock import StoreClock
from rankscope.collector.store.errors import UnusableError
from rankscope.collector.store.store import IncidentDatabaseStore

OFF_SECONDS = 600.0


def test_a_collector_whose_clock_is_off_sends_by_the_clock_of_postgresql(emptied):
    store = IncidentDatabaseStore(emptied())
    try:
        clock = StoreClock(ShiftedClock(OFF_SECONDS), store)
        clock.compare()
        assert abs(clock.now() - time.time()) < OFF_SECONDS / 2
    finally:
        store.close()


def test_a_store_of_its_own_has_no_other_clock(tmp_path):
    store = IncidentDatabaseStore(f"sqlite:///{tmp_path / 'rankscope.db'}")
    try:
        clock = StoreClock(ShiftedClock(OFF_SECONDS), store)
        clock.compare()
        assert clock.now() > time.time() + OFF_SECONDS / 2
    finally:
        store.close()


def test_a_page_of_a_collector_that_is_ahead_is_due_at_once_by_the_clock_of_postgresql(
    emptied, changed
):
    store = IncidentDatabaseStore(emptied())
    try:
        endpoint = NotifiedEndpoint(
            id="wh_1", url="http://127.0.0.1:9/hook", secret="", format="standard"
        )
        store.add_webhook(endpoint, 0.0)
        store.commit([changed()], time.time() + OFF_SECONDS)
        now = store.time()
        assert now is not None
        assert store.waiting(now) == ["wh_1"]
    finally:
        store.close()


@dataclass
class Base:
    """A database whose clock stands at `at` until it is away; an answer takes the collector 2 s."""

    collector: SetClock
    at: float = 1000.0
    away: bool = False

    def time(self) -> float:
        if self.away:
            raise UnusableError("away")
        self.collector.at += 2.0
        return self.at


def test_while_the_database_is_away_its_clock_goes_on_as_last_known():
    collector = SetClock(5000.0)
    base = Base(collector)
    clock = StoreClock(collector, base)
    clock.compare()
    base.away = True
    collector.at += 30.0
    clock.compare()
    assert clock.now() == base.at + 1.0 + 30.0  # asked half way, 1 s ago


def test_the_clock_is_read_without_asking_the_database():
    collector = SetClock(5000.0)
    base = Base(collector, away=True)
    assert StoreClock(collector, base).now() == collector.at


def test_less_than_an_answer_can_tell_does_not_move_the_clock():
    collector = SetClock(5000.0)
    base = Base(collector)
    clock = StoreClock(collector, base)
    clock.compare()
    base.at = clock.now() + 1.5  # half way: 0.5 s more than known, of an answer within 1 s
    before = clock.now() - collector.at
    clock.compare()
    assert clock.now() - collector.at == before
    base.at = clock.now() + 1.0 + 1.5
    clock.compare()
    assert clock.now() - collector.at == before + 1.5
