"""Which phase a rank is in, sent when it changes: init, train, eval, checkpoint, shutdown."""

import time
from collections.abc import Callable

_SHORTEST_SAVE_SECONDS = 0.5
"""A save shorter than this is no phase: loops save small things at every step."""


class Phases:
    """Keeps the phase; `emit` sends one, with its name and the time at which it began."""

    def __init__(self, emit: Callable[[str, float], None]) -> None:
        self._emit = emit
        self.current = ""
        self._saving_since = 0.0
        self._depth = 0
        self._saving_sent = False

    def enter(self, name: str) -> None:
        """Enter a phase; entering the current one sends nothing."""
        if name != self.current:
            self.current = name
            self._emit(name, time.time())

    def save_begins(self) -> None:
        """Note that a checkpoint is being written; it becomes a phase once it takes long."""
        self._depth += 1
        if self._depth == 1:
            self._saving_sent = False
            self._saving_since = time.time()

    def save_ends(self) -> None:
        """Note that it is written; sends `train` again where `checkpoint` had been sent."""
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            self._saving_since = 0.0
            if self._saving_sent:
                self._saving_sent = False
                self.current = "train"
                self._emit("train", time.time())

    def look(self, now: float) -> None:
        """Send `checkpoint` when one has been taking long; called from the sender's thread."""
        since = self._saving_since
        if since and not self._saving_sent and now - since > _SHORTEST_SAVE_SECONDS:
            self._saving_sent = True
            if self.current != "checkpoint":
                self.current = "checkpoint"
                self._emit("checkpoint", since)
