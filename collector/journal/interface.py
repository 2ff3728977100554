"""What the collector needs of a log: append to a partition, read from an offset, trim.

Files implement it (`journal`); a log system that several collectors share can stand behind it, with
a partition for each. An offset is opaque to everybody but the partition that gave it: it can only
be kept, compared for equality and given back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .entries import JournalEntry

Offset = tuple[str, int]
"""Where a reader goes on: after everything it has read."""

EVALUATION = "evaluation"
"""The partition of what evaluation decided under load: the seconds it skipped."""


@dataclass(frozen=True, slots=True)
class AppendOutcome:
    """What became of a group: the first `entries` of it are durable; `failure` stopped the others.

    `ends` are the offsets after each durable one.
    """

    entries: int
    bytes: int
    failure: OSError | None = None
    ends: Sequence[Offset] = ()


class LogPartition(Protocol):
    """One ordered log. One thread appends; any thread reads."""

    def write(self, entries: Sequence[JournalEntry]) -> AppendOutcome:
        """Append the entries, make them durable, and say how many are."""
        ...

    def read(self, after: Offset | None) -> Iterator[tuple[JournalEntry, Offset]]:
        """Yield the durable entries after an offset (None: all), each with the offset after it.

        Ends at the end of what is there now. Damage costs the rest of its segment and is logged.
        """
        ...

    def latest(self, seconds: float) -> Iterator[tuple[JournalEntry, Offset]]:
        """Yield the entries of the last time range, counted from the newest entry."""
        ...

    def holds(self, offset: Offset) -> bool:
        """Tell whether nothing after this offset has been trimmed."""
        ...

    def last_at_ns(self) -> int | None:
        """Return the receive time of the newest entry, None where there is none."""
        ...

    def check(self, *, failed: bool) -> str:
        """Return what will soon be short, "" where nothing is; for the thread that appends.

        Raises OSError where nothing could be written now; `failed`: the last write was refused, so
        that a look at the disk is not enough.
        """
        ...

    def trim(self, now: float) -> int:
        """Let go of what is too old or too much; return the bytes that are left."""
        ...

    def close(self) -> None:
        """Make everything durable, and let go of it."""
        ...
