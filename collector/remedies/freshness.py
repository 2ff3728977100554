"""Which verdicts this collector has itself seen evaluation renew, and when.

An open incident is decided on anew every 30 s while its symptoms last. A document that a store
kept says nothing of that: it may be of before a crash, or of another collector's time. And what
people or actions enter in its timeline is news, yet no new verdict.
"""

import threading
from collections.abc import Mapping
from typing import Any

from ...alerts.handled import PEOPLE
from ...vocabulary.times import parse

_MOST = 10_000
_ENTERED = PEOPLE | {"profile"}
"""Kinds of a timeline's entries that somebody entered: the change that brings one is no verdict."""


class VerdictFreshness:
    """When evaluation last decided on each incident. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at: dict[str, float] = {}
        self._entries: dict[str, int] = {}

    def take(self, document: Mapping[str, Any]) -> None:
        """Take an incident as it was kept just now."""
        identity = str(document["id"])
        entries = sum(row["kind"] in _ENTERED for row in document["timeline"])
        with self._lock:
            before = self._entries.get(identity, 0)
            self._entries[identity] = entries
            if document["status"] == "resolved":
                self._forget(identity)
            elif entries == before:
                self._at[identity] = parse(document["updated_at"])
            if len(self._entries) > _MOST:
                self._forget(next(iter(self._entries)))

    def age(self, identity: str, now: float) -> float | None:
        """Return how old the last verdict is, None where none was seen."""
        with self._lock:
            at = self._at.get(identity)
        return None if at is None else now - at

    def _forget(self, identity: str) -> None:
        self._at.pop(identity, None)
        self._entries.pop(identity, None)
