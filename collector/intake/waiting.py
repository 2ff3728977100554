"""Payloads that wait for the journal, bounded in bytes, each with the future of its answer."""

import threading
from collections import deque
from concurrent.futures import Future
from typing import Literal

from .budget import ByteBudget
from .payloads import DecodedPayload, Payload, PayloadOutcome
from .turns import PayloadTurns, Waiting

State = Literal["starting", "running", "stopping"]

RETRY_SECONDS = 2
"""When a sender may try again for what passes by itself: a queue, a start.

OpenTelemetry's Python exporter gives a batch ten seconds and six tries, and gives it up at once
where it is asked to wait longer than what is left: with 1 its last try is after 5 s, with 2 after
8 s, with 3 after 9 s, with 5 after 5 s, and with 10 there is no second one.
"""
REPAIR_SECONDS = 3
"""The same for what somebody has to mend: a full disk, a message broker that is away."""

DecodedApart = tuple[Waiting, DecodedPayload | None]
"""A large payload and what it holds; None where it is answered already."""


class UnavailableError(Exception):
    """A payload cannot be taken now; the sender keeps it and tries again."""

    def __init__(self, reason: str, *, retry_after_seconds: int = RETRY_SECONDS) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds


class BusyError(UnavailableError):
    """Too much waits already."""


class ByteBoundedQueue:
    """Many threads put; one takes small payloads, one large ones, which it hands over decoded.

    Bytes count until they are released, not until they are taken. Nothing is taken in before
    `state` is "running"; it is changed through `turn`.
    """

    def __init__(self, max_bytes: int) -> None:
        self._budget = ByteBudget(max_bytes)
        self._turns = PayloadTurns()
        self._decoded: deque[DecodedApart] = deque()
        self._lock = threading.RLock()  # of which a condition knows cheaply who holds it
        self._changed = threading.Condition(self._lock)
        self._large = threading.Condition(self._lock)
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
        with self._lock:
            if only_from in (None, self._state):
                self._state = state
            self._wake()

    def put(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Queue a payload. Raises BusyError when it is full, UnavailableError unless running.

        Full is what its sender may have waiting. A payload larger than that is taken when nothing
        else is there: it would never be.
        """
        future: Future[PayloadOutcome] = Future()
        size = len(payload.body)
        with self._lock:
            if self._state != "running":
                raise UnavailableError(f"the collector is {self._state}")
            if not self._budget.take(payload.sender, size):
                raise BusyError(f"{self._budget.used} bytes wait already")
            self._turns.add((payload, future))
            self._wake()
        return future

    def take(self, max_bytes: int) -> list[Waiting]:
        """Return small payloads, up to so many bytes and at least one, without waiting for any."""
        with self._lock:
            return self._turns.take_small(max_bytes)

    def take_large(self) -> Waiting | None:
        """Return the next large payload, None where there is none; it is to be handed over."""
        with self._lock:
            return self._turns.take_large()

    def hand_over(self, decoded: DecodedApart) -> None:
        """Put back a large payload, decoded."""
        with self._lock:
            self._decoded.append(decoded)
            self._wake()

    def take_decoded(self) -> DecodedApart | None:
        """Return a large payload that was handed over, None where there is none."""
        if not self._decoded:
            return None  # as nearly always
        with self._lock:
            return self._decoded.popleft()

    def release(self, group: list[Waiting]) -> None:
        """Stop counting what was taken."""
        with self._lock:
            for payload, _ in group:
                self._budget.give_back(payload.sender, len(payload.body))

    def release_large(self, waiting: Waiting) -> None:
        """Do the same for a large payload, and let those behind it go on."""
        self.release([waiting])
        with self._lock:
            self._turns.done(waiting)
            self._wake()

    def wait(self, seconds: float) -> bool:
        """Wait until there is something to write or time is up; False once stopping and empty."""
        with self._lock:
            if not (self._turns.small or self._decoded or self._ended):
                self._changed.wait(seconds)
            return not self._ended

    def wait_large(self, seconds: float) -> bool:
        """Wait until there is a large payload or time is up; False once stopping and empty."""
        with self._lock:
            if not (self._turns.large or self._ended):
                self._large.wait(seconds)
            return not self._ended

    @property
    def _ended(self) -> bool:
        return self._state == "stopping" and self._turns.empty

    def _wake(self) -> None:
        """Wake each thread for which there is something, both at the end."""
        if self._turns.small or self._decoded or self._state == "stopping":
            self._changed.notify_all()
        if self._turns.large or self._state == "stopping":
            self._large.notify_all()
