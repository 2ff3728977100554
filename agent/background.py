"""Readers that must wait for others (a socket, a slow file system), each in a thread of its own."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from ..vocabulary.samples import Sample
from .health import AgentHealth

_log = logging.getLogger(__name__)


class BackgroundReader(ABC):
    """Calls `turn` from its own thread; `read` returns nothing, what is found leaves otherwise.

    What a turn raises is counted, and the next one comes after `pause` seconds, else after as many
    as the turn returned.
    """

    name: str

    def __init__(
        self,
        *,
        health: AgentHealth,
        period: float,
        now: Callable[[], float],
        pause: float | None = None,
        first: float = 0.0,
    ) -> None:
        self.period = period
        self._health = health
        self._now = now
        self._pause = period if pause is None else pause
        self._first = first
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    @abstractmethod
    def turn(self, now: float) -> float:
        """Do what is due; return after how many seconds the next turn is."""

    def read(self, now: float) -> list[Sample]:  # noqa: ARG002  what is found has its own time
        """See to it that the thread runs."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._loop, name=self.name, daemon=True)
            self._thread.start()
        return []

    def close(self) -> None:
        """End the thread."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(5.0)

    def _finish(self) -> None:  # noqa: B027  most have nothing to finish
        """Finish in the thread, after the last turn."""

    def _failed(self, reason: str, by: int = 1) -> None:
        """Count what could not be read."""
        if by:
            self._health.count("collective_source_failures", self.name, reason, by=by)

    def _loop(self) -> None:
        pause = self._first
        while not self._stopped.wait(pause):
            try:
                pause = self.turn(self._now())
            except Exception:  # noqa: BLE001  one turn must not end the others
                pause = self._pause
                self._failed("internal")
                _log.exception("reader %s: a turn failed", self.name)
        self._finish()
