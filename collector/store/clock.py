"""The clock that collectors with one database have in common: the database's.

When a message is tried again is written there and read by all of them, and a receiver refuses a
message signed minutes before or after its own time: the clock of one machine is no measure.
"""

from typing import Protocol

import structlog

from ...vocabulary.clock import Clock
from .errors import StoreError

_LOG = structlog.get_logger(__name__)
COMPARE_SECONDS = 5.0
"""How often to compare: a clock that somebody sets is wrong for no longer."""


class DatabaseTime(Protocol):
    """What tells the time of a database."""

    def time(self) -> float | None:
        """Return its clock in s since the epoch, None where it has none. Raises StoreError."""
        ...


class StoreClock:
    """A collector's clock, put right by the database's in `compare`. Safe from any thread.

    `now` never asks the database, so that it may be read anywhere. While the database does not
    answer it goes on from what was known last; without one for several it is the clock given.
    """

    def __init__(self, clock: Clock, store: DatabaseTime) -> None:
        self._clock = clock
        self._store = store
        self._ahead_seconds = 0.0

    def now(self) -> float:
        """Return seconds since the epoch."""
        return self._clock.now() + self._ahead_seconds

    def compare(self) -> None:
        """Ask the database for its time; may take as long as it lets one wait."""
        before = self._clock.now()
        try:
            found = self._store.time()
        except StoreError as error:
            _LOG.debug("the clock of the database is not known", error=str(error))
            return
        if found is None:
            return
        way = self._clock.now() - before
        ahead = found - before - way / 2
        # As exactly as that it is known already: time is not moved to and fro by a slow answer.
        if abs(ahead - self._ahead_seconds) > way / 2:
            self._ahead_seconds = ahead
