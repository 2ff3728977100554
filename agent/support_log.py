"""What readers report of their support, logged once a reason and not once a reader.

A node without NVIDIA's library has one thing to report about it, not one for each of the sixteen
readers that would use it.
"""

import logging
import threading
import time
from collections.abc import Callable

_SETTLE_SECONDS = 2.0
"""How long a new reason waits for other readers with the same one."""
_NAMES = 20

_log = logging.getLogger(__name__)


class SupportLog:
    """Takes notes from every reading thread; `flush` is to be called every second or so."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._current: dict[str, tuple[bool, str]] = {}
        self._pending: dict[tuple[bool, str], tuple[float, list[str]]] = {}

    def note(self, reader: str, *, supported: bool, reason: str) -> None:
        """Note what a reader answered; the same answer again is no news."""
        answer = (supported, reason)
        with self._lock:
            if self._current.get(reader) == answer:
                return
            self._current[reader] = answer
            if supported and not reason:
                return
            _, names = self._pending.setdefault(answer, (self._monotonic(), []))
            names.append(reader)

    def flush(self, *, at_once: bool = False) -> None:
        """Log the reasons that had time to settle, or every one."""
        with self._lock:
            settled = self._monotonic() - _SETTLE_SECONDS
            due = [
                (answer, names)
                for answer, (since, names) in self._pending.items()
                if at_once or since <= settled
            ]
            for answer, _ in due:
                del self._pending[answer]
        for (supported, reason), names in due:
            listed = ", ".join(names[:_NAMES]) + (", ..." if len(names) > _NAMES else "")
            subject = f"reader {names[0]}" if len(names) == 1 else f"{len(names)} readers"
            text = f"{subject}: {reason}" if supported else f"{subject} not supported: {reason}"
            _log.info("%s", text if len(names) == 1 else f"{text} ({listed})")
