"""Incident changes as server-sent events: the latest in bounded memory, and streams over them.

The store's writers put changes in from their threads; streams read on the event loop. A stream that
falls behind the memory, or resumes from something older, gets a `reset`: it loads everything anew.
"""

import asyncio
import itertools
import json
import secrets
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from ...vocabulary.times import rfc3339
from ..store.incidents import Recorded

MEMORY = 1000
HEARTBEAT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class _Item:
    number: int
    type: str
    jobs: tuple[str, ...]
    data: str


class Feed:
    """Remembers the latest changes and wakes the streams that wait for more."""

    def __init__(self, *, memory: int = MEMORY) -> None:
        # Numbers start again with the process: the prefix keeps old ids from meaning new things.
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self._last = 0
        self._items: deque[_Item] = deque(maxlen=memory)
        self._lock = threading.Lock()
        self._streams: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    def put(self, news: Sequence[Recorded]) -> None:
        """Remember changes and wake every stream. Called in the thread that wrote them."""
        with self._lock:
            for row in news:
                message = {
                    "type": row.kind,
                    "timestamp": rfc3339(row.at),
                    "data": row.document,
                }
                self._last = next(self._numbers)
                data = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
                self._items.append(_Item(self._last, row.kind, tuple(row.document["jobs"]), data))
            streams = list(self._streams)
        for loop, event in streams:
            # A loop that has ended has no streams left that could miss anything.
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def follow(
        self,
        last_event_id: str | None,
        *,
        permits: Callable[[Sequence[str]], bool],
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> AsyncGenerator[str, None]:
        """Yield the text of a stream of server-sent events, without end."""
        event = asyncio.Event()
        stream = (asyncio.get_running_loop(), event)
        with self._lock:
            self._streams.add(stream)
            seen, complete = self._resume(last_event_id)
        try:
            yield "retry: 3000\n\n"
            if not complete:
                yield self._reset(seen)
            while True:
                event.clear()
                items, seen, complete = self._after(seen)
                if not complete:
                    yield self._reset(seen)
                for item in items:
                    if permits(item.jobs):
                        yield self._written(item.number, item.type, item.data)
                if items:
                    continue
                try:
                    await asyncio.wait_for(event.wait(), heartbeat_seconds)
                except TimeoutError:
                    yield ": keep-alive\n\n"
        finally:
            with self._lock:
                self._streams.discard(stream)

    def _resume(self, last_event_id: str | None) -> tuple[int, bool]:
        """Return the number after which to go on, and whether nothing in between is missing."""
        if last_event_id is None:
            return self._last, True
        prefix, _, number = last_event_id.partition("-")
        if prefix != self._prefix or not number.isdecimal() or int(number) > self._last:
            return self._last, False
        return int(number), True

    def _after(self, seen: int) -> tuple[list[_Item], int, bool]:
        with self._lock:
            oldest = self._items[0].number if self._items else self._last + 1
            items = [item for item in self._items if item.number > seen]
            if seen + 1 < oldest and seen < self._last:
                return [], self._last, False
            return items, self._last, True

    def _reset(self, number: int) -> str:
        return self._written(number, "reset", '{"type":"reset"}')

    def _written(self, number: int, type_: str, data: str) -> str:
        return f"id: {self._prefix}-{number}\nevent: {type_}\ndata: {data}\n\n"
