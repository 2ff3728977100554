"""Writes faults to the disk as soon as there is a new one, on a thread that may wait for it."""

import contextlib
import threading
from collections.abc import Callable

from .tracker import FaultTracker


class FaultWriter:
    """Woken after each fault that left. A disk that refuses shows at the reader `gpu_faults`.

    Without it a fault that the kernel log reported would be lost to a SIGKILL within the reader's
    period: the log's own offset is stored at once, so that it is not read again.
    """

    def __init__(self, tracker: FaultTracker, *, now: Callable[[], float]) -> None:
        self._tracker = tracker
        self._now = now
        self._changed = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="device faults", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Have what changed written soon; never waits."""
        self._changed.set()

    def close(self) -> None:
        """Write what is left, and end."""
        self._closed = True
        self._changed.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        while not self._closed:
            self._changed.wait()
            self._changed.clear()
            with contextlib.suppress(OSError):
                self._tracker.keep(self._now())
