"""What people do, as entries of the journal: in one order with the telemetry, and replayed with it.

The body is JSON. `id` is chosen by whoever writes the entry and names it for good: the store keeps
an action once, however often the journal is read again, and the API waits for it by that name.
"""

import json
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ..formats.otlp.errors import UndecodableError

ON_INCIDENTS = frozenset(("ack", "resolve", "assign", "feedback"))
"""Kinds that are about one incident; the others ("silence", "unsilence", ...) are about none."""


@dataclass(frozen=True, slots=True)
class Entered:
    """One action as it was entered: by whom, about which incident ("" for none)."""

    id: str
    kind: str
    by: str
    incident: str = ""
    note: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)

    def pack(self) -> bytes:
        """Return the body of its entry."""
        row = {
            "id": self.id,
            "kind": self.kind,
            "by": self.by,
            "incident": self.incident,
            "note": self.note,
            "detail": dict(self.detail),
        }
        return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def unpack(body: bytes) -> Entered:
    """Return what `pack` wrote. Raises UndecodableError."""
    try:
        row = json.loads(body)
        texts = [row[name] for name in ("id", "kind", "by", "incident", "note")]
        detail = row["detail"]
    except (ValueError, KeyError, TypeError) as error:
        raise UndecodableError(f"not an action: {error!r}") from None
    if not all(isinstance(text, str) for text in texts) or not isinstance(detail, dict):
        raise UndecodableError("not an action: a field of another type")
    return Entered(*texts, detail)


class Pending:
    """Who waits for an action to be kept by the store. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[str, Future[None]] = {}

    def expect(self, identity: str) -> "Future[None]":
        """Return a future that is done once the store has the action."""
        future: Future[None] = Future()
        with self._lock:
            self._futures[identity] = future
        return future

    def forget(self, identity: str) -> None:
        """Wait no longer."""
        with self._lock:
            self._futures.pop(identity, None)

    def kept(self, identity: str) -> None:
        """Tell whoever waits that the store has the action."""
        with self._lock:
            future = self._futures.pop(identity, None)
        if future is not None:
            future.set_result(None)
