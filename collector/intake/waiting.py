"""Payloads that wait for the journal, bounded in bytes, each with the future of its answer."""

import threading
from collections import deque
from concurrent.futures import Future
from typing import Literal

from .budget import ByteBudget
from .payloads import Payload, PayloadOutcome

State = Literal["starting", "running", "stopping"]

RETRY_SECONDS = 2
"""When a sender may try again for what passes by itself: a queue, a start.

OpenTelemetry's Python exporter gives a batch ten seconds and six tries, and gives it up at once
where it is asked to wait longer than what is left: with 1 its last try is after 5 s, with 2 after
8 s, with 3 after 9 s, with 5 after 5 s, and with 10 there is no second one.
"""
REPAIR_SECONDS = 3
"""The same for what somebody has to mend: a full disk, a message broker that is away."""

Waiting = tuple[Payload, "Future[PayloadOutcome]"]


class UnavailableError(Exception):
    """A payload cannot be taken now; the sender keeps it and tries again."""

    def __init__(self, reason: str, *, retry_after_seconds: int = RETRY_SECONDS) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds


class BusyError(UnavailableError):
    """Too much waits already."""


class ByteBoundedQueue:
    """Many threads put, one takes. Bytes count until they are released, not until they are taken.

    Nothing is taken in before `state` is "running"; it is changed through `turn`.
    """

    def __init__(self, max_bytes: int) -> None:
        self._budget = ByteBudget(max_bytes)
        self._items: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._state: State = "starting"

    @property
    def state(self) -> State:
        """Return whether payloads are taken in."""
        return self._state

    @property
    def bytes(self) -> int:
        """Return the bytes put and not yet released."""
        return self._budget.used

    def turn(self, state: State, *, only_from: State | None = None) -> None:
        """Change the state and wake who waits for that."""
        with self._changed:
            if only_from in (None, self._state):
                self._state = state
            self._changed.notify_all()

    def put(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Queue a payload. Raises BusyError when it is full, UnavailableError unless running.

        Full is what its sender may have waiting. A payload larger than that is taken when nothing
        else is there: it would never be.
        """
        future: Future[PayloadOutcome] = Future()
        size = len(payload.body)
        with self._changed:
            if self._state != "running":
                raise UnavailableError(f"the collector is {self._state}")
            if not self._budget.take(payload.sender, size):
                raise BusyError(f"{self._budget.used} bytes wait already")
            self._items.append((payload, future))
            self._changed.notify_all()
        return future

    def take(self, max_bytes: int) -> list[Waiting]:
        """Return what waits, up to so many bytes and at least one, without waiting for any."""
        group: list[Waiting] = []
        size = 0
        with self._changed:
            while self._items and size < max_bytes:
                group.append(self._items.popleft())
                size += len(group[-1][0].body)
        return group

    def release(self, group: list[Waiting]) -> None:
        """Stop counting what was taken."""
        with self._changed:
            for payload, _ in group:
                self._budget.give_back(payload.sender, len(payload.body))

    def wait(self, seconds: float) -> bool:
        """Wait until there is something to take or time is up; False once stopping and empty."""
        with self._changed:
            if not self._items and self._state != "stopping":
                self._changed.wait(seconds)
            return bool(self._items) or self._state != "stopping"
