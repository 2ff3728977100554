"""Events of one job attempt or host as they were received, bounded in number and in bytes."""

from collections import deque
from collections.abc import Iterator

from ...vocabulary.samples import Event

_EVENT_BYTES = 500
"""About what an event takes beside its texts."""


class EventHistory:
    """The newest events, each with when it was received. `count` moves with every change."""

    def __init__(self, most: int) -> None:
        self.bytes = 0
        self.count = 0
        self._most = most
        self._held: deque[tuple[Event, float]] = deque()

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[tuple[Event, float]]:
        return iter(self._held)

    def add(self, event: Event, now: float, *, most_bytes: int) -> int:
        """Keep an event; return how many older ones had to go for their bytes."""
        self._held.append((event, now))
        self.bytes += size(event)
        self.count += 1
        if len(self._held) > self._most:
            self._drop()
        return self.shrink(most_bytes)

    def shrink(self, most_bytes: int) -> int:
        """Let the oldest go until so many bytes are left, and one event; return how many went."""
        before = len(self._held)
        while self.bytes > most_bytes and len(self._held) > 1:
            self._drop()
        gone = before - len(self._held)
        self.count += gone
        return gone

    def _drop(self) -> None:
        self.bytes -= size(self._held.popleft()[0])


def size(event: Event) -> int:
    """Return about how many bytes an event takes."""
    texts = (len(value) for value in event.attributes.values() if isinstance(value, str))
    return _EVENT_BYTES + sum(texts)
