"""The tail: decoded entries between intake and evaluation, in memory and bounded.

It saves reading back what was just decoded. What does not fit is left out and read from the journal
later, so intake never waits: entries are numbered, and a gap in the numbers says what to read.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..journal.interface import Offset
from ..windows import event_history
from .numbered import NumberedEntries
from .payloads import DecodedPayload

_SAMPLE_BYTES = 20
_ENTRY_BYTES = 500


DurableEntry = tuple[float, DecodedPayload, Offset | None]
"""When an entry was received (seconds), what it holds, and the offset after it."""


@dataclass(frozen=True, slots=True)
class TailItem:
    """One durable entry: its number in this process, receive time (seconds), and what it holds.

    `end` is the offset after it. Without `decoded` nothing but time goes on.
    """

    number: int
    at: float
    decoded: DecodedPayload | None
    end: Offset | None


class EntrySink(Protocol):
    """What the intake hands durable entries on to."""

    def add(self, entries: Sequence[DurableEntry]) -> None:
        """Add the next entries."""
        ...


class EntrySource(Protocol):
    """Entries between the log and evaluation, numbered; `IntakeTail` has them in memory."""

    @property
    def added(self) -> int:
        """Return how many entries there were: their numbers are below."""
        ...

    @property
    def bytes(self) -> int:
        """Return about how much memory it takes."""
        ...

    def first(self) -> TailItem | None:
        """Return the oldest entry held, None when none is."""
        ...

    def drop(self) -> None:
        """Drop the oldest entry held."""
        ...

    def wait(self, number: int, seconds: float) -> None:
        """Wait until there is an entry of this number, `wake` is called, or time is up."""
        ...

    def wake(self) -> None:
        """Let nobody wait any more."""
        ...


class IntakeTail(NumberedEntries):
    """One thread adds, one takes."""

    def __init__(self, max_bytes: int = 256 << 20) -> None:
        super().__init__()
        self._max_bytes = max_bytes
        self._items: deque[tuple[TailItem, int]] = deque()

    def add(self, entries: Sequence[DurableEntry]) -> None:
        """Add the next entries, or only count those for which there is no room."""
        with self._changed:
            for at, decoded, end in entries:
                # Of events not counted one by one: senders wait meanwhile.
                size = _ENTRY_BYTES + (
                    decoded.text_bytes + len(decoded.events) * event_history.EVENT_BYTES
                    if decoded.metrics is None
                    else decoded.accepted * _SAMPLE_BYTES
                )
                if not self._bytes or self._bytes + size <= self._max_bytes:
                    self._items.append((TailItem(self._added, at, decoded, end), size))
                    self._bytes += size
                self._added += 1
            self._changed.notify_all()

    def first(self) -> TailItem | None:
        """Return the oldest entry held, None when none is."""
        with self._changed:
            return self._items[0][0] if self._items else None

    def drop(self) -> None:
        """Drop the oldest entry held."""
        with self._changed:
            self._bytes -= self._items.popleft()[1]
