"""Seconds that a loaded collector skips instead of falling behind, recorded before they are.

A range is in the journal's partition "evaluation" before anything later is evaluated, so that a
replay, and a restart that reads the journal again, skip the very same seconds.
"""

import json
import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from ...vocabulary.times import rfc3339
from ..journal.entries import JournalEntry
from ..journal.interface import LogPartition
from ..journal.kinds import PayloadKind

BEHIND_SECONDS = 5.0
"""Evaluation this far behind what was received skips to it."""
_SECOND_NS = 1_000_000_000


class SkipPolicy(Protocol):
    """What a schedule asks before it evaluates a second."""

    def until(self, second: int) -> int | None:
        """Return the last second of a range to skip that begins at or before this one, or None."""
        ...


class RecordedSkips:
    """Ranges of seconds that were skipped, [first, last], asked for in the order of time."""

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._ranges = deque(sorted(ranges))

    @classmethod
    def of(cls, entries: Iterable[JournalEntry]) -> "RecordedSkips":
        """Return the ranges in the entries of the partition."""
        return cls(_range(entry) for entry in entries if entry.kind is PayloadKind.SKIPPED)

    def until(self, second: int) -> int | None:
        """Return the last second of the range this second is in, None where it was evaluated."""
        while self._ranges and self._ranges[0][1] < second:
            self._ranges.popleft()
        if self._ranges and self._ranges[0][0] <= second:
            return self._ranges[0][1]
        return None


class OverloadSkips:
    """Decides live what to skip; what an earlier process skipped stays skipped."""

    def __init__(
        self,
        partition: LogPartition,
        recorded: RecordedSkips,
        *,
        received: Callable[[], float],
        skipped: Callable[[int], None],
    ) -> None:
        """`received` gives the watermark; `skipped` gets the number of seconds of each range."""
        self._partition = partition
        self._recorded = recorded
        self._received = received
        self._skipped = skipped
        self.recovering = False
        """While the journal is read again after a start nothing new is skipped: an earlier process
        evaluated those seconds, and its incidents are in the store."""
        self.decided_until = -math.inf
        """The newest second of which the store has a change. An earlier process evaluated it, by
        time alone perhaps, after the last entry: skipped, it would be decided anew, and later."""

    def until(self, second: int) -> int | None:
        """Return the last second of the range to skip, None where this one is to be evaluated."""
        known = self._recorded.until(second)
        if known is not None or self.recovering or second <= self.decided_until:
            return known
        last = math.floor(self._received()) - 1
        if last - second < BEHIND_SECONDS:
            return None
        body = json.dumps({"first": second, "last": last, "from": rfc3339(second)}).encode()
        # Unrecorded seconds must not be skipped: rather late than not to be reproduced.
        if (
            self._partition.write(
                [JournalEntry(PayloadKind.SKIPPED, second * _SECOND_NS, body)]
            ).entries
            != 1
        ):
            return None
        self._skipped(last - second + 1)
        return last


def _range(entry: JournalEntry) -> tuple[int, int]:
    row = json.loads(entry.body)
    return int(row["first"]), int(row["last"])
