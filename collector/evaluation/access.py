"""Taking turns with the pipeline: evaluation holds it in small pieces, readers get in between."""

import threading
from types import TracebackType


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
