"""The store's thread: changes of incidents and people's actions, committed in order.

What the database does not take is held and tried again; evaluation and intake never wait for it.
What is held here is in every snapshot, and what came after the snapshot is in the journal.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import structlog

from ..health.health import CollectorHealth
from ..journal.actions import RecordedAction

_LOG = structlog.get_logger(__name__)
_RETRY_SECONDS = 1.0
MOST_ITEMS = 10_000
"""Held beyond this, updates that a later change of the same incident replaces are dropped."""


@dataclass(frozen=True, slots=True)
class StoredChange:
    """The changes of one second, or of one action and that action."""

    changes: Sequence[Any]
    at: float
    action: RecordedAction | None = None


class ChangeSink(Protocol):
    """Where changes of incidents go. Both may be called again with what they already have."""

    def commit(self, changes: Sequence[Any], now: float) -> None:
        """Keep the changes of one second, all or none."""
        ...

    def enter(self, entered: RecordedAction, changes: Sequence[Any], now: float) -> None:
        """Keep what a person did and the changes it made, all or none."""
        ...


class StoreThread:
    """Hands on what it is given, in order, up to the first that fails: that is tried again."""

    def __init__(
        self,
        sink: ChangeSink,
        *,
        health: CollectorHealth,
        kept: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`kept` gets the id of every action that was committed."""
        self._sink = sink
        self._health = health
        self._kept = kept
        self._items: deque[StoredChange] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="storing", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Hand on what is held, as far as the sink takes it, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
        else:
            self.flush()

    def add(self, changes: Sequence[Any], at: float, action: RecordedAction | None = None) -> None:
        """Hold the changes of one second, or an action with its changes, until committed."""
        with self._changed:
            self._items.append(StoredChange(tuple(changes), at, action))
            if len(self._items) > MOST_ITEMS:
                self._thin()
            self._changed.notify_all()
        self._show()

    def held(self) -> list[StoredChange]:
        """Return what the sink does not have yet, or not for certain."""
        with self._changed:
            return list(self._items)

    def flush(self) -> bool:
        """Hand on what is held; False at the first that fails."""
        while True:
            with self._changed:
                if not self._items:
                    return True
                first = self._items[0]
            try:
                if first.action is None:
                    self._sink.commit(first.changes, first.at)
                else:
                    self._sink.enter(first.action, first.changes, first.at)
            except Exception as error:  # noqa: BLE001  whatever the database raises, we try again
                self._failed(error)
                return False
            if self._failing:
                self._failing = False
                _LOG.info("incident changes are stored again")
            with self._changed:
                # Only this thread removes; thinning replaces items behind the first.
                self._items.popleft()
            if first.action is not None:
                self._kept(first.action.id)
            self._show()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._items or self._stopping)
                if not self._items:
                    return
            if not self.flush():
                with self._changed:
                    if self._stopping:
                        return
                    self._changed.wait_for(lambda: self._stopping, _RETRY_SECONDS)

    def _failed(self, error: Exception) -> None:
        self._health.store_failures.inc()
        if not self._failing:
            _LOG.error(
                "incident changes cannot be stored yet", error=str(error), held=len(self._items)
            )
        self._failing = True

    def _show(self) -> None:
        self._health.store_queue.set(len(self._items))

    def _thin(self) -> None:
        """Drop updates that nobody is notified of and a later change replaces; keep the first."""
        first, *rest = self._items
        later: set[str] = set()
        thinned: list[StoredChange] = []
        for item in reversed(rest):
            kept = [
                change
                for change in item.changes
                if change.notify
                or change.kind != "incident.updated"
                or change.incident.id not in later
            ]
            later |= {change.incident.id for change in item.changes}
            if kept or item.action is not None:
                thinned.append(replace(item, changes=tuple(kept)))
        self._items = deque([first, *reversed(thinned)])
