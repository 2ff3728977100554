"""Whom evaluation meets: readers, between two pieces of work; intake; and who observes it."""

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol

Changed = Callable[[Sequence[Any], float], None]
"""Gets the changes of one second, and that second."""


class ReceivedPayloads(Protocol):
    """What is needed of the intake."""

    def watermark(self) -> float:
        """Return a time up to which the tail has everything."""
        ...


class PayloadObserver(Protocol):
    """Somebody who follows payloads through evaluation, where the collector observes itself."""

    def applied(self, cause: object) -> None:
        """Note that a payload was applied, by the trace that it began, if any."""
        ...

    def evaluated(self, changes: Sequence[Any], second: float) -> None:
        """Note that an evaluation changed incidents."""
        ...


def observed(observer: PayloadObserver | None, changed: Changed) -> Changed:
    """Return what gets changes: the observer first, where there is one."""
    if observer is None:
        return changed
    seen = observer.evaluated

    def both(changes: Sequence[Any], second: float) -> None:
        seen(changes, second)
        changed(changes, second)

    return both


class FairLock:
    """A lock that whoever waits gets before the one that has just let go of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = threading.Lock()

    def __enter__(self) -> None:
        # Who waits for the lock holds `_next`, so the last holder queues up behind.
        with self._next:
            self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
