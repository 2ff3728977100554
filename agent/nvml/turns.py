"""The devices' threads take turns: one asks after the other, while calls return."""

import threading
import time
from collections.abc import Callable

from .pipe import LinePipe

_PATIENCE_SECONDS = 0.1
"""How long a device waits for the others: one whose call hangs must not hold them up."""


class DeviceTurns:
    """Lets one thread at a time ask, and writes what they found when nobody waits any more.

    All are due in the same moment. At once they would take the interpreter's lock from each other
    at every call into the library; one after the other they find caches warm, and wake the agent
    once.
    """

    def __init__(self, pipe: LinePipe) -> None:
        self._pipe = pipe
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._waiting = 0
        self.begin = time.monotonic()
        """When all devices are due first, in monotonic seconds."""

    def take(self, poll: Callable[[], None]) -> None:
        """Ask one device, after those before it or after a tenth of a second."""
        with self._lock:
            self._waiting += 1
        first = self._turn.acquire(timeout=_PATIENCE_SECONDS)
        with self._lock:
            self._waiting -= 1
        try:
            poll()
        finally:
            if first:
                self._turn.release()
            if not (first and self._waiting):
                self._pipe.flush()
