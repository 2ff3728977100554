"""A thread of a reader that must wait for others: a socket, a slow file system."""

import logging
import threading
from collections.abc import Callable

from .health import Health

_log = logging.getLogger(__name__)


class Background:
    """Calls `turn(now)` every so many seconds; what it raises is counted, and the next one comes.

    turn: returns when it wants to be called next, in seconds from then on.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[float], float],
        *,
        health: Health,
        now: Callable[[], float],
        pause: float,
    ) -> None:
        self._name = name
        self._turn = turn
        self._health = health
        self._now = now
        self._pause = pause
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def run(self) -> None:
        """See to it that the thread runs."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
            self._thread.start()

    def close(self, timeout: float = 5.0) -> None:
        """End the thread."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _loop(self) -> None:
        pause = 0.0
        while not self._stopped.wait(pause):
            try:
                pause = self._turn(self._now())
            except Exception:  # noqa: BLE001  one turn must not end the others
                pause = self._pause
                self._health.count("collective_source_failures", self._name, "internal")
                _log.exception("reader %s: a turn failed", self._name)
