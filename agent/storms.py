"""Storms: a fault reported a million times is one event now and a count once a minute.

The first of a key is reported at once. While it goes on, one summary a minute says how many came
since; after a quiet minute the next counts as a first again. Every key is folded by itself, so a
different fault inside a storm is reported at once.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

SECONDS = 60.0
_MOST = 1024

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class _EventStorm:
    """A key that is folded in the half-open time range from `since` to `until`.

    Both ends are kept: computed anew, `now - since` and `since + seconds` round differently, and
    a summary would be due by the one and not by the other.
    """

    since: float
    until: float
    pending: int = 0


class StormFolding(Generic[K]):
    """Folds repeats. Not for several threads at once: its owner holds the lock.

    At most `most` keys are followed; beyond, the one that was reported longest ago is dropped, and
    its pending count is reported first.
    """

    def __init__(self, *, seconds: float = SECONDS, most: int = _MOST) -> None:
        self._seconds = seconds
        self._most = most
        self._storms: dict[K, _EventStorm] = {}
        self._leaving: list[tuple[K, int]] = []
        self._due_at: float | None = None

    def take(self, key: K, now: float, *, by: int = 1) -> int:
        """Take `by` occurrences; return how many to report at once, 0 when they are folded."""
        storm = self._storms.get(key)
        if storm is None:
            if len(self._storms) >= self._most:
                self._evict(now)
            self._storms[key] = _EventStorm(now, now + self._seconds)
            return by
        # A clock that was set back must not fold for hours what should be reported.
        if storm.since <= now < storm.until:
            storm.pending += by
            if self._due_at is None:
                self._due_at = storm.until
            return 0
        by += storm.pending
        self._storms[key] = _EventStorm(now, now + self._seconds)
        return by

    def due(self, now: float) -> list[tuple[K, int]]:
        """Return summaries whose minute is over: keys and their counts since the last report."""
        summaries, self._leaving = self._leaving, []
        if self._due_at is None or now < self._due_at:
            return summaries
        self._due_at = None
        for key, storm in list(self._storms.items()):
            over = now >= storm.until
            if storm.pending and over:
                summaries.append((key, storm.pending))
                self._storms[key] = _EventStorm(now, now + self._seconds)
            elif over:
                del self._storms[key]
            elif storm.pending:
                earlier = storm.until if self._due_at is None else self._due_at
                self._due_at = min(earlier, storm.until)
        return summaries

    def forget(self, key: K) -> None:
        """Follow a key no more: its next one is reported at once."""
        self._storms.pop(key, None)

    @property
    def waiting(self) -> bool:
        """Return whether something is folded that is yet to be reported."""
        return self._due_at is not None or bool(self._leaving)

    def __contains__(self, key: K) -> bool:
        """Return whether a key is followed, or has a count left to be reported."""
        return key in self._storms or any(key == one for one, _ in self._leaving)

    def __len__(self) -> int:
        """Return how many keys are followed."""
        return len(self._storms)

    def _evict(self, now: float) -> None:
        for key in [
            key for key, storm in self._storms.items() if not storm.pending and now >= storm.until
        ]:
            del self._storms[key]
        if len(self._storms) >= self._most:
            key = min(self._storms, key=lambda one: self._storms[one].since)
            storm = self._storms.pop(key)
            if storm.pending:
                self._leaving.append((key, storm.pending))
