"""The clock that collectors with one database have in common: the database's.

When a message is tried again is written there and read by all of them, and a receiver refuses a
message signed minutes before or after its own time: the clock of one machine is no measure.
"""

import threading
import time
from typing import Protocol

import structlog

from ...vocabulary.clock import Clock
from .errors import StoreError

_LOG = structlog.get_logger(__name__)
_AGAIN_SECONDS, _AWAY_SECONDS = 60.0, 5.0


class Timed(Protocol):
    """What tells the time of a database."""

    def time(self) -> float | None:
        """Return its clock in s since the epoch, None where it has none. Raises StoreError."""
        ...


class StoreClock:
    """A collector's clock, put right by the database's once a minute. Safe from any thread.

    While the database does not answer it goes on from what was known last.
    """

    def __init__(self, clock: Clock, store: Timed) -> None:
        self._clock = clock
        self._store = store
        self._lock = threading.Lock()
        self._ahead_seconds = 0.0
        self._again_at = 0.0

    def now(self) -> float:
        """Return seconds since the epoch."""
        with self._lock:
            if time.monotonic() >= self._again_at:
                self._again_at = time.monotonic() + _AGAIN_SECONDS
                self._compare()
            return self._clock.now() + self._ahead_seconds

    def _compare(self) -> None:
        before = self._clock.now()
        try:
            found = self._store.time()
        except StoreError as error:
            self._again_at = time.monotonic() + _AWAY_SECONDS
            _LOG.debug("the clock of the database is not known", error=str(error))
            return
        if found is not None:
            self._ahead_seconds = found - (before + self._clock.now()) / 2
