"""Messages go by the database's clock: a collector's own may be minutes off."""

import time

import pytest

from rankscope.collector.store.clock import StoreClock
from rankscope.collector.store.errors import UnusableError
from rankscope.collector.store.store import Store

OFF_SECONDS = 600.0


class Off:
    """The clock of a machine that is minutes ahead."""

    def now(self) -> float:
        """Return seconds since the epoch, and some more."""
        return time.time() + OFF_SECONDS


@pytest.mark.slow
def test_a_collector_whose_clock_is_off_sends_by_the_clock_of_postgresql(postgresql):
    url = postgresql.new()
    store = Store(url)
    try:
        clock = StoreClock(Off(), store)
        assert abs(clock.now() - time.time()) < OFF_SECONDS / 2
        assert abs(clock.now() - time.time()) < OFF_SECONDS / 2  # without asking again
    finally:
        store.close()
        postgresql.drop(url)


def test_a_store_of_its_own_has_no_other_clock(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'rankscope.db'}")
    try:
        assert StoreClock(Off(), store).now() > time.time() + OFF_SECONDS / 2
    finally:
        store.close()


def test_while_the_database_is_away_its_clock_goes_on_as_last_known():
    class Going:
        away = False

        def time(self) -> float:
            if self.away:
                raise UnusableError("away")
            return time.time()

    store = Going()
    clock = StoreClock(Off(), store)
    clock.now()
    store.away = True
    clock._again_at = 0.0
    assert abs(clock.now() - time.time()) < OFF_SECONDS / 2
