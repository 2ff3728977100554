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
from dataclasses import dataclass

from .payloads import Payload, PayloadOutcome

LARGE_BYTES = 64 << 10
"""Bytes of a payload from which on it is decoded apart: the most that takes some milliseconds."""
_LEAST_BYTES = 1 << 10
"""What the smallest payload costs, in bytes of a larger one."""

Waiting = tuple[Payload, "Future[PayloadOutcome]"]
_Lane = tuple[bytes, Hashable]
_Turn = tuple[int, int, Waiting]
"""A mark, and the number of the payload."""


@dataclass(slots=True)
class _SenderLane:
    """What waits of one connection: `begun` may be taken or is being decoded, `behind` may not.

    Small payloads may be taken together. A large one waits for those before it, and those behind
    it wait while it is `held`: until it is decoded and written.
    """

    mark: int = 0
    begun: int = 0
    held: bool = False
    behind: deque[_Turn] | None = None


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
        return bool(self._small)

    @property
    def large(self) -> bool:
        return bool(self._large)

    def add(self, waiting: Waiting) -> None:
        """Let a payload wait."""
        name = _lane(waiting)
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = _SenderLane()
        lane.mark = max(lane.mark, self._given) + _cost(waiting)
        turn = (lane.mark, self._count, waiting)
        self._count += 1
        if lane.behind or not self._begin(lane, turn):
            if lane.behind is None:
                lane.behind = deque()
            lane.behind.append(turn)

    def take_small(self, max_bytes: int) -> list[Waiting]:
        """Return the small payloads whose turn it is, up to so many bytes and at least one."""
        taken: list[Waiting] = []
        size = 0
        while self._small and size < max_bytes:
            _, _, waiting = heapq.heappop(self._small)
            taken.append(waiting)
            size += _cost(waiting)
            self._end(waiting)
        self._given += size
        return taken

    def take_large(self) -> Waiting | None:
        """Return the large payload whose turn it is; those behind it wait until it is `done`."""
        if not self._large:
            return None
        _, _, waiting = heapq.heappop(self._large)
        self._given += _cost(waiting)
        return waiting

    def done(self, waiting: Waiting) -> None:
        """Let those go on that waited behind a large payload of their own connection."""
        self._lanes[_lane(waiting)].held = False
        self._end(waiting)

    def _begin(self, lane: _SenderLane, turn: _Turn) -> bool:
        """Give a payload its place; False where it has to wait for others of its connection."""
        large = is_large(turn[2][0])
        if lane.held or (large and lane.begun):
            return False
        lane.held = large
        lane.begun += 1
        heapq.heappush(self._large if large else self._small, turn)
        return True

    def _end(self, waiting: Waiting) -> None:
        """Let what waited behind a payload begin; forget a lane of which nothing waits."""
        name = _lane(waiting)
        lane = self._lanes[name]
        lane.begun -= 1
        while lane.behind and self._begin(lane, lane.behind[0]):
            lane.behind.popleft()
        if not lane.begun:
            del self._lanes[name]


def is_large(payload: Payload) -> bool:
    """Tell whether a payload is decoded apart."""
    return len(payload.body) > LARGE_BYTES


def _lane(waiting: Waiting) -> _Lane:
    payload = waiting[0]
    return payload.sender, payload.connection


def _cost(waiting: Waiting) -> int:
    return max(len(waiting[0].body), _LEAST_BYTES)
