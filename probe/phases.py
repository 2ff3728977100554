"""Which phase a rank is in, said when it changes: init, train, eval, checkpoint, shutdown."""

import time
from collections.abc import Callable

_WORTH_SAYING_SECONDS = 0.5
"""A save shorter than this is no phase: loops save small things at every step."""


class Phases:
    """Keeps the phase; `say` sends one, with its name and the time at which it began."""

    def __init__(self, say: Callable[[str, float], None]) -> None:
        self._say = say
        self.current = ""
        self._saving_since = 0.0
        self._depth = 0
        self._said_saving = False

    def enter(self, name: str) -> None:
        """Enter a phase; entering the one it is in says nothing."""
        if name != self.current:
            self.current = name
            self._say(name, time.time())

    def save_begins(self) -> None:
        """Note that a checkpoint is being written; it becomes a phase once it takes long."""
        self._depth += 1
        if self._depth == 1:
            self._said_saving = False
            self._saving_since = time.time()

    def save_ends(self) -> None:
        """Note that it is written; says `train` again where `checkpoint` had been said."""
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            self._saving_since = 0.0
            if self._said_saving:
                self._said_saving = False
                self.current = "train"
                self._say("train", time.time())

    def look(self, now: float) -> None:
        """Say `checkpoint` when one has been taking long; called from the sender's thread."""
        since = self._saving_since
        if since and not self._said_saving and now - since > _WORTH_SAYING_SECONDS:
            self._said_saving = True
            if self.current != "checkpoint":
                self.current = "checkpoint"
                self._say("checkpoint", since)
