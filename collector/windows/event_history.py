"""Events of one job attempt or host as they were received, bounded in number and in bytes."""

from collections.abc import Iterator

from ...vocabulary.samples import Event

EVENT_BYTES = 500
"""About what an event takes beside its texts."""


class EventHistory:
    """The newest events, each with when it was received. `count` moves with every change."""

    __slots__ = ("_held", "_most", "bytes", "count")

    def __init__(self, most: int) -> None:
        self.bytes = 0
        self.count = 0
        self._most = most
        self._held: list[tuple[Event, float]] = []
        """A list: most hosts hold an event or none, and a deque has room for 64 at once."""

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
            self._drop(1)
        return self.shrink(most_bytes)

    def shrink(self, most_bytes: int) -> int:
        """Let the oldest go until so many bytes are left, and one event; return how many went."""
        gone, left = 0, self.bytes
        while left > most_bytes and gone < len(self._held) - 1:
            left -= size(self._held[gone][0])
            gone += 1
        if gone:
            self._drop(gone)
            self.count += gone
        return gone

    def _drop(self, events: int) -> None:
        """Let so many of the oldest go."""
        self.bytes -= sum(size(event) for event, _ in self._held[:events])
        del self._held[:events]


def size(event: Event) -> int:
    """Return about how many bytes an event takes."""
    texts = (len(value) for value in event.attributes.values() if isinstance(value, str))
    return EVENT_BYTES + sum(texts)
