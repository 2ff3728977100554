"""Whose payload is next: small ones pass large ones of others, and nobody waits without an end.

A payload's mark is the bytes that had got their turn when it came, plus its own; of payloads over
one connection it counts from the mark of the one before. The lowest mark is next. So a small
payload waits for few of those that came before it, a large one is passed by at most as many bytes
of later ones as it has itself, and one sender's come in their order.
"""

import heapq
from collections import deque
from collections.abc import Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field

from .payloads import Payload, PayloadOutcome

LARGE_BYTES = 64 << 10
"""Bytes of a payload from which on it is decoded apart: the most that takes some milliseconds."""
_LEAST_BYTES = 1 << 10
"""What the smallest payload costs, in bytes of a larger one."""

Waiting = tuple[Payload, "Future[PayloadOutcome]"]
_Lane = tuple[bytes, Hashable]
_Turn = tuple[int, int, _Lane]
"""A mark, the number of the payload, and whose it is."""


@dataclass(slots=True)
class _SenderLane:
    """What waits of one connection, oldest first; `held` while a large one of it is decoded."""

    mark: int = 0
    held: bool = False
    waiting: deque[tuple[int, int, Waiting]] = field(default_factory=deque)


class PayloadTurns:
    """Payloads that wait. Those of one connection come in their order, whatever their size."""

    def __init__(self) -> None:
        self._lanes: dict[_Lane, _SenderLane] = {}
        self._small: list[_Turn] = []
        self._large: list[_Turn] = []
        self._given = 0
        """Bytes that got their turn."""
        self._count = 0

    @property
    def empty(self) -> bool:
        """Tell whether nothing waits, and all that was taken and is large is done."""
        return not self._lanes

    @property
    def small(self) -> bool:
        """Tell whether it is a small payload's turn."""
        return bool(self._small)

    @property
    def large(self) -> bool:
        """Tell whether it is a large payload's turn."""
        return bool(self._large)

    def add(self, waiting: Waiting) -> None:
        """Let a payload wait."""
        name = _lane(waiting)
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = _SenderLane()
        lane.mark = max(lane.mark, self._given) + _cost(waiting)
        lane.waiting.append((lane.mark, self._count, waiting))
        self._count += 1
        if len(lane.waiting) == 1 and not lane.held:
            self._next(name, lane)

    def take_small(self, max_bytes: int) -> list[Waiting]:
        """Return the small payloads whose turn it is, up to so many bytes and at least one."""
        taken: list[Waiting] = []
        size = 0
        while self._small and size < max_bytes:
            taken.append(self._take(heapq.heappop(self._small), held=False))
            size += _cost(taken[-1])
        return taken

    def take_large(self) -> Waiting | None:
        """Return the large payload whose turn it is; those behind it wait until it is `done`."""
        return self._take(heapq.heappop(self._large), held=True) if self._large else None

    def done(self, waiting: Waiting) -> None:
        """Let those go on that waited behind a large payload of their own connection."""
        name = _lane(waiting)
        self._lanes[name].held = False
        self._next(name, self._lanes[name])

    def _take(self, turn: _Turn, *, held: bool) -> Waiting:
        name = turn[2]
        lane = self._lanes[name]
        _, _, waiting = lane.waiting.popleft()
        self._given += _cost(waiting)
        lane.held = held
        if not held:
            self._next(name, lane)
        return waiting

    def _next(self, name: _Lane, lane: _SenderLane) -> None:
        """Give the oldest of a lane its place among the others; forget an empty lane."""
        if not lane.waiting:
            del self._lanes[name]
            return
        mark, number, waiting = lane.waiting[0]
        heapq.heappush(self._large if is_large(waiting[0]) else self._small, (mark, number, name))


def is_large(payload: Payload) -> bool:
    """Tell whether a payload is decoded apart."""
    return len(payload.body) > LARGE_BYTES


def _lane(waiting: Waiting) -> _Lane:
    payload = waiting[0]
    return payload.sender, payload.connection


def _cost(waiting: Waiting) -> int:
    return max(len(waiting[0].body), _LEAST_BYTES)
