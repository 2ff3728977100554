"""Over gloo, torch's recorder counts operations: from these to collectives that members share.

Its status counts sends, receives and the messages inside a monitored barrier too, which have no
entry and of which each rank has others, so that ranks differ that are equally far. Only the list of
entries tells both numbers of a collective; it is read rarely while such a rank goes on, and once
when it stands. (PyTorch 2.13)
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_SOON_SECONDS, _LATEST_SECONDS = 5.0, 60.0
"""Between two looks for operations that have no entry: doubling from the first."""

Entries = Iterable[Mapping[str, Any]]
Counts = dict[str, Any]


class GlooNumbers:
    """Follows the status of one process. `keys` are the names of its numbers."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = tuple(keys)
        self._apart: set[str] = set()
        """Groups whose operations are not all collectives."""
        self._before: dict[str, tuple[int, ...]] = {}
        self._exact: dict[str, tuple[tuple[int, ...], Counts]] = {}
        self._pause = _SOON_SECONDS
        self._due = -math.inf
        self._looks = True

    def comparable(
        self, status: Mapping[str, Counts], entries: Callable[[], Entries], at: float
    ) -> dict[str, Counts]:
        """Return the status in numbers that members share; without groups where none are known.

        `entries` reads the whole list.
        """
        found: dict[str, Counts] = {}
        read: list[Mapping[str, Any]] | None = None
        due = self._looks and not -_LATEST_SECONDS <= at - self._due < 0
        for number, counts in status.items():
            now = tuple(int(counts.get(key, -1)) for key in self._keys)
            stands, self._before[number] = self._before.get(number) == now, now
            exact = self._exact.get(number)
            if stands and exact is not None and exact[0] == now:
                found[number] = exact[1]
                continue
            if stands or due:
                read = list(entries()) if read is None else read
                exact = now, self._translated(number, counts, read)
            if stands and exact is not None:
                self._exact[number] = exact
                found[number] = exact[1]
            elif number not in self._apart:
                found[number] = counts
        if due and read:
            # A torch that does not number operations tells nothing more however often it is asked.
            self._looks = any(one.get("op_id") is not None for one in read)
            self._due, self._pause = at + self._pause, min(2 * self._pause, _LATEST_SECONDS)
        return found

    def _translated(self, number: str, counts: Counts, entries: Entries) -> Counts:
        """Return the numbers of a group as those of its collectives."""
        numbers = [
            (int(one["op_id"]), int(one.get("collective_seq_id", 0)))
            for one in entries
            if str(one.get("pg_id")) == number
            and one.get("op_id") is not None
            and str(one.get("profiling_name", "")).startswith("gloo:")
        ]
        if all(operation == collective for operation, collective in numbers):
            last = max((operation for operation, _ in numbers), default=0)
            if not numbers or int(counts.get(self._keys[0], -1)) <= last:
                return counts
        self._apart.add(number)
        return counts | {key: _of(numbers, int(counts.get(key, -1))) for key in self._keys}


def _of(numbers: list[tuple[int, int]], operation: int) -> int:
    """Return the last collective up to an operation; what is none stays as it is."""
    if operation <= 0:
        return operation
    return max((one for number, one in numbers if number <= operation), default=0)
