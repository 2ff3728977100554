"""Entries as they come are counted, and one thread waits for the next."""

import threading


class NumberedEntries:
    """Base of what holds entries between the log and evaluation. `_changed` guards all of it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._added = 0
        self._bytes = 0
        self._woken = False

    @property
    def added(self) -> int:
        """Return how many entries there were, those left out included: their numbers are below."""
        return self._added

    @property
    def bytes(self) -> int:
        """Return about how much memory it takes."""
        return self._bytes

    def wait(self, number: int, seconds: float) -> None:
        """Wait until there is an entry of this number, `wake` is called, or time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._woken or self._added > number, seconds)

    def wake(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()
