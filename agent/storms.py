"""Storms: a fault told a million times is one event now and a number once a minute.

The first of a key is told at once. While it goes on, one summary a minute says how many came
since; after a quiet minute the next counts as a first again. Every key is folded by itself, so a
different fault inside a storm is told at once.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

SECONDS = 60.0
_MOST = 1024

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class _Storm:
    told_at: float
    pending: int = 0


class Storms(Generic[K]):
    """Folds repeats. Not for several threads at once: its owner holds the lock.

    At most `most` keys are followed; beyond, the one that was told longest ago is let go, and what
    was still untold of it is told first.
    """

    def __init__(self, *, seconds: float = SECONDS, most: int = _MOST) -> None:
        self._seconds = seconds
        self._most = most
        self._storms: dict[K, _Storm] = {}
        self._leaving: list[tuple[K, int]] = []
        self._due_at: float | None = None

    def take(self, key: K, now: float, *, by: int = 1) -> int:
        """Take `by` occurrences; return how many are to be told at once, 0 when they are folded."""
        storm = self._storms.get(key)
        if storm is None:
            if len(self._storms) >= self._most:
                self._make_room(now)
            self._storms[key] = _Storm(now)
            return by
        # A clock that was set back must not fold for hours what it should tell.
        if 0 <= now - storm.told_at < self._seconds:
            storm.pending += by
            if self._due_at is None:
                self._due_at = storm.told_at + self._seconds
            return 0
        by += storm.pending
        storm.told_at, storm.pending = now, 0
        return by

    def due(self, now: float) -> list[tuple[K, int]]:
        """Return summaries whose minute is over: keys and how many came since they were told."""
        told, self._leaving = self._leaving, []
        if self._due_at is None or now < self._due_at:
            return told
        self._due_at = None
        for key, storm in list(self._storms.items()):
            over = now - storm.told_at >= self._seconds
            if storm.pending and over:
                told.append((key, storm.pending))
                storm.told_at, storm.pending = now, 0
            elif over:
                del self._storms[key]
            elif storm.pending:
                ends = storm.told_at + self._seconds
                self._due_at = ends if self._due_at is None else min(self._due_at, ends)
        return told

    def forget(self, key: K) -> None:
        """Follow a key no more: its next one is told at once."""
        self._storms.pop(key, None)

    @property
    def waiting(self) -> bool:
        """Tell whether something is folded that is yet to be told."""
        return self._due_at is not None or bool(self._leaving)

    def __contains__(self, key: K) -> bool:
        """Tell whether a key is followed, or has something left to be told."""
        return key in self._storms or any(key == one for one, _ in self._leaving)

    def __len__(self) -> int:
        """Return how many keys are followed."""
        return len(self._storms)

    def _make_room(self, now: float) -> None:
        for key in [
            key
            for key, storm in self._storms.items()
            if not storm.pending and now - storm.told_at >= self._seconds
        ]:
            del self._storms[key]
        if len(self._storms) >= self._most:
            key = min(self._storms, key=lambda one: self._storms[one].told_at)
            storm = self._storms.pop(key)
            if storm.pending:
                self._leaving.append((key, storm.pending))
