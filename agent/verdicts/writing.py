"""Writes verdicts to the disk as soon as there is a new one, on a thread that may wait for it."""

import contextlib
import threading
from collections.abc import Callable

from .keeping import Verdicts


class Writer:
    """Woken after each fault that left. A disk that refuses shows at the reader `gpu_faults`.

    Without it a fault told by the kernel log would be lost to a SIGKILL within the reader's period:
    the log's own place is noted at once, so that it is not read again.
    """

    def __init__(self, verdicts: Verdicts, *, now: Callable[[], float]) -> None:
        self._verdicts = verdicts
        self._now = now
        self._news = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="verdicts", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Have what changed written soon; never waits."""
        self._news.set()

    def close(self) -> None:
        """Write what is left, and end."""
        self._over = True
        self._news.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        while not self._over:
            self._news.wait()
            self._news.clear()
            with contextlib.suppress(OSError):
                self._verdicts.keep(self._now())
