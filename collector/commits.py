"""Changes of incidents on their way to the store: in order, and again until they are kept."""

from collections.abc import Sequence
from typing import Any, Protocol

import structlog

from .health import Health

_LOG = structlog.get_logger(__name__)


class Sink(Protocol):
    """Where changes of incidents go. `commit` may be called again with what it already has."""

    def commit(self, changes: Sequence[Any], now: float) -> None:
        """Keep the changes of one second, all or none."""
        ...


class Commits:
    """Holds what the sink has not taken yet; for one thread."""

    def __init__(self, sink: Sink, *, health: Health) -> None:
        self._sink = sink
        self._health = health
        self._held: list[tuple[Sequence[Any], float]] = []
        self._failing = False

    def add(self, changes: Sequence[Any], now: float) -> None:
        """Hold the changes of one second until `flush`."""
        self._held.append((changes, now))

    def flush(self) -> None:
        """Hand on what is held, in order, up to the first that fails: that is for the next time."""
        while self._held:
            changes, now = self._held[0]
            try:
                self._sink.commit(changes, now)
            except Exception as error:  # noqa: BLE001  whatever the database raises, we try again
                self._health.store_failures.inc()
                if not self._failing:
                    _LOG.error("incident changes cannot be stored yet", error=str(error))
                self._failing = True
                return
            if self._failing:
                _LOG.info("incident changes are stored again")
            self._failing = False
            del self._held[0]
