"""Uncaught exceptions, reported as `log.fault` before the interpreter exits.

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
"""Lower case. Errors of a rank that lost its peer, rather than of the peer that failed first."""

_LONGEST = 2000
_SECRET = re.compile(
    r"(?i)(://[^/\s:@]*:)[^@\s]+(?=@)"
    r"|((?:api[_-]?key|token|secret|passw(?:or)?d|authorization)[\"']?\s*[=:]\s*[\"']?"
    r"(?:bearer\s+)?)[^\s\"',&]+"
)
"""A password in an address, or what follows a word such as token= in a message."""


class CrashReports:
    """Sends `log.fault` for uncaught exceptions; `flush` waits briefly until it is sent."""

    def __init__(self, emit: Callable[..., None], flush: Callable[[], None]) -> None:
        self._emit = emit
        self._flush = flush
        self._hook: Any = None
        self._thread_hook: Any = None
        self.seen = False

    def install(self) -> None:
        """Install both hooks, in front of those that are there."""
        self._hook, sys.excepthook = sys.excepthook, self._uncaught
        self._thread_hook, threading.excepthook = threading.excepthook, self._uncaught_in_thread

    def remove(self) -> None:
        """Restore both hooks, except one that was replaced by somebody else since."""
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
                self._report(kind, error)
        finally:
            self._hook(kind, error, traceback)

    def _uncaught_in_thread(self, found: Any) -> None:
        try:
            if issubclass(found.exc_type, Exception):
                self._report(found.exc_type, found.exc_value)
        finally:
            self._thread_hook(found)

    def _report(self, kind: type[BaseException], error: BaseException | None) -> None:
        try:
            text = without_secrets(f"{kind.__name__}: {error}"[:_LONGEST])
            role = "cascade" if is_cascade(text) else "root"
            self._emit("log.fault", signature=f"python.{kind.__name__}", role=role, text=text)
            self._flush()
        except Exception:  # noqa: BLE001, S110  the job is dying: its traceback comes next
            pass


def without_secrets(text: str) -> str:
    """Return the text with what looks like a password or token masked."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2]}***", text)


def is_cascade(text: str) -> bool:
    """Return whether an error is the loss of a peer that failed first."""
    found = text.lower()
    return any(mark in found for mark in _CASCADE)
