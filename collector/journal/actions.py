"""What people do, as entries of the journal: in one order with the telemetry, and replayed with it.

The body is JSON. `id` is chosen by whoever writes the entry and names it for good: the store keeps
an action once, however often the journal is read again, and the API waits for it by that name.
"""

import json
import secrets
import threading
from concurrent.futures import Future
from dataclasses import dataclass

from ...alerts.actions import PersonAction
from ...formats.otlp.errors import UndecodableError


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """One action as it was entered; `token` is the name of the token that it came with."""

    id: str
    action: PersonAction
    token: str = ""

    @classmethod
    def new(cls, action: PersonAction, *, token: str = "") -> "RecordedAction":
        """Return an action under a new id."""
        return cls(secrets.token_hex(8), action, token)

    def pack(self) -> bytes:
        """Return the body of its entry."""
        row = {"id": self.id, "token": self.token, **self.action.document()}
        return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def unpack(body: bytes) -> RecordedAction:
    """Return what `pack` wrote. Raises UndecodableError."""
    try:
        row = json.loads(body)
        return RecordedAction(str(row["id"]), PersonAction.parse(row), str(row.get("token", "")))
    except (ValueError, KeyError, TypeError) as error:
        raise UndecodableError(f"not an action: {error!r}") from None


class PendingAction:
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
