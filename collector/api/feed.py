"""Incident changes as server-sent events: the latest in bounded memory, and streams over them.

The store's writers put changes in from their threads; streams read on the event loop. An event's id
is the number of its change in the store, so a stream resumes after a restart of the collector too:
what is no longer in memory is read from the store, each incident as it is now. A stream that falls
behind the memory, or resumes from a change that is not kept, gets a `reset`: it loads everything
anew.
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...vocabulary.answers.notifications import MessageDocument
from ..store.incidents import RecordedChange

MEMORY = 1000
HEARTBEAT_SECONDS = 15.0


class ChangeHistory(Protocol):
    """What is needed of the store."""

    def newest_change(self) -> int:
        """Return the number of the newest change, 0 where there is none."""
        ...

    def changes_after(self, number: int) -> list[RecordedChange] | None:
        """Return the changes after one, None where that one is not kept any more."""
        ...


@dataclass(frozen=True, slots=True)
class _FeedItem:
    number: int
    type: str
    jobs: tuple[str, ...]
    data: str


class ChangeFeed:
    """Remembers the latest changes and wakes the streams that wait for more."""

    def __init__(self, history: ChangeHistory | None = None, *, memory: int = MEMORY) -> None:
        self._history = history
        self._last = 0 if history is None else history.newest_change()
        self._before = self._last
        """The newest change that is not in memory."""
        self._items: deque[_FeedItem] = deque()
        self._memory = memory
        self._lock = threading.Lock()
        self._streams: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    def put(self, news: Sequence[RecordedChange]) -> None:
        """Remember changes and wake every stream. Called in the thread that wrote them."""
        with self._lock:
            for row in news:
                self._items.append(_item(row))
                self._last = row.number
                if len(self._items) > self._memory:
                    self._before = self._items.popleft().number
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
        expired: Callable[[], bool] = lambda: False,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> AsyncGenerator[str, None]:
        """Yield the text of a stream of server-sent events, without end until `expired`."""
        event = asyncio.Event()
        stream = (asyncio.get_running_loop(), event)
        with self._lock:
            self._streams.add(stream)
            begun, floor = self._last, self._before
        try:
            yield "retry: 3000\n\n"
            seen = begun
            if last_event_id is not None:
                missed, seen = await self._missed(last_event_id, begun, floor)
                if missed is None:
                    yield _reset(seen)
                for item in missed or ():
                    if permits(item.jobs):
                        yield _written(item)
            while not expired():
                event.clear()
                items, seen, complete = self._after(seen)
                if not complete:
                    yield _reset(seen)
                for item in items:
                    if permits(item.jobs):
                        yield _written(item)
                if items:
                    continue
                try:
                    await asyncio.wait_for(event.wait(), heartbeat_seconds)
                except TimeoutError:
                    yield ": keep-alive\n\n"
        finally:
            with self._lock:
                self._streams.discard(stream)

    async def _missed(
        self, last_event_id: str, begun: int, floor: int
    ) -> tuple[list[_FeedItem] | None, int]:
        """Return what the store has to fill the gap (None: it cannot), and where to go on."""
        if not last_event_id.isascii() or not last_event_id.isdecimal() or len(last_event_id) > 18:
            return None, begun
        number = int(last_event_id)
        if number > begun:
            return None, begun
        if number >= floor and (number == begun or self._holds(number)):
            return [], number
        if self._history is None:
            return None, begun
        rows = await asyncio.to_thread(self._history.changes_after, number)
        if rows is None:
            return None, begun
        return [_item(row) for row in rows], max([begun, *(row.number for row in rows)])

    def _holds(self, number: int) -> bool:
        with self._lock:
            return number == self._before or any(item.number == number for item in self._items)

    def _after(self, seen: int) -> tuple[list[_FeedItem], int, bool]:
        with self._lock:
            if seen < self._before:
                return [], self._last, False
            return [item for item in self._items if item.number > seen], self._last, True


def _item(row: RecordedChange) -> _FeedItem:
    message = MessageDocument(type=row.kind, timestamp=row.at, data=row.document)
    data = json.dumps(message.document(), ensure_ascii=False, separators=(",", ":"))
    return _FeedItem(row.number, row.kind, tuple(row.document["jobs"]), data)


def _reset(number: int) -> str:
    return _written(_FeedItem(number, "reset", (), '{"type":"reset"}'))


def _written(item: _FeedItem) -> str:
    return f"id: {item.number}\nevent: {item.type}\ndata: {item.data}\n\n"
