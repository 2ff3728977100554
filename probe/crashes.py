"""Last words: what an uncaught exception was, said before the interpreter dies of it.

Chains to the hooks that were there; prints nothing, and changes neither output nor exit code.
"""

import re
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

_CASCADE = (
    "connection closed by peer",
    "connection reset by peer",
    "connection refused",
    "broken pipe",
    "remote process exited",
    "remoteerror",
    "socket timeout",
    "timed out waiting",
    "ncclremoteerror",
    "nccl communicator was aborted",
    "application timeout caused pair closure",
    "watchdog caught collective operation timeout",
)
"""Lower case. What a rank says that lost its peer, rather than what the peer died of."""

_LONGEST = 2000
_SECRET = re.compile(
    r"(?i)(://[^/\s:@]*:)[^@\s]+(?=@)"
    r"|((?:api[_-]?key|token|secret|passw(?:or)?d|authorization)[\"']?\s*[=:]\s*[\"']?"
    r"(?:bearer\s+)?)[^\s\"',&]+"
)
"""A password in an address, or what follows a word such as token= in a message."""


class Crashes:
    """Sends `log.fault` for uncaught exceptions; `flush` waits briefly until it is sent."""

    def __init__(self, say: Callable[..., None], flush: Callable[[], None]) -> None:
        self._say = say
        self._flush = flush
        self._hook: Any = None
        self._thread_hook: Any = None
        self.seen = False

    def install(self) -> None:
        """Stand before the hooks that are there."""
        self._hook, sys.excepthook = sys.excepthook, self._uncaught
        self._thread_hook, threading.excepthook = threading.excepthook, self._uncaught_in_thread

    def remove(self) -> None:
        """Give the places back, unless somebody else stands before us by now."""
        if sys.excepthook == self._uncaught:
            sys.excepthook = self._hook
        if threading.excepthook == self._uncaught_in_thread:
            threading.excepthook = self._thread_hook

    def _uncaught(
        self,
        kind: type[BaseException],
        error: BaseException,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if issubclass(kind, Exception):
                self.seen = True
                self._tell(kind, error)
        finally:
            self._hook(kind, error, traceback)

    def _uncaught_in_thread(self, said: Any) -> None:
        try:
            if issubclass(said.exc_type, Exception):
                self._tell(said.exc_type, said.exc_value)
        finally:
            self._thread_hook(said)

    def _tell(self, kind: type[BaseException], error: BaseException | None) -> None:
        try:
            text = without_secrets(f"{kind.__name__}: {error}"[:_LONGEST])
            role = "cascade" if is_cascade(text) else "root"
            self._say("log.fault", signature=f"python.{kind.__name__}", role=role, text=text)
            self._flush()
        except Exception:  # noqa: BLE001, S110  the job is dying: its own words come next
            pass


def without_secrets(text: str) -> str:
    """Return the text with what looks like a password or token masked."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2]}***", text)


def is_cascade(text: str) -> bool:
    """Return whether an error says that somebody else went away first."""
    said = text.lower()
    return any(mark in said for mark in _CASCADE)
