"""Which phase a rank is in, sent when it changes: init, train, eval, checkpoint, shutdown."""

import time
from collections.abc import Callable

PHASES = ("init", "train", "eval", "checkpoint", "shutdown")
SHUTDOWN = "shutdown"

_EVALUATION_SIGNS = 2

_SHORTEST_SAVE_SECONDS = 0.5
"""A save shorter than this is no phase: loops save small things at every step."""


class PhaseReports:
    """Keeps the phase; `emit` sends one, with its name and the time at which it began.

    `announced`: the job sends its evaluations itself, so that none is inferred.
    """

    def __init__(self, emit: Callable[[str, float], None]) -> None:
        self._emit = emit
        self.current = ""
        self.announced = False
        self.evaluation_signs = 0
        self._saving_since = 0.0
        self._depth = 0
        self._before = ""
        self._saving_sent = False

    def enter(self, name: str) -> None:
        """Enter a phase; entering the current one, or one after `shutdown`, sends nothing."""
        if self.current not in (name, SHUTDOWN):
            self.current = name
            self.evaluation_signs = 0
            self._emit(name, time.time())

    def seems_evaluation(self) -> None:
        """Note a batch fetched, or a forward pass begun, with gradients off or in eval mode.

        Once may be anything (a metric, a batch fetched before `model.train()`), so the second in a
        row begins phase `eval`, for evaluations that nobody announces. A backward pass ends it.
        """
        self.evaluation_signs += 1
        if self.announced:
            return
        if self.evaluation_signs >= _EVALUATION_SIGNS and self.current == "train":
            self.enter("eval")

    def resume(self, before: str) -> None:
        """Leave a phase that ended for the one before it."""
        self.enter(before or "init")

    def save_begins(self) -> None:
        """Note that a checkpoint is being written; it becomes a phase once it takes long."""
        self._depth += 1
        if self._depth == 1:
            self._saving_sent = False
            self._before = self.current
            self._saving_since = time.time()

    def save_ends(self) -> None:
        """Note that it is written; sends the phase before it where `checkpoint` had been sent."""
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            self._saving_since = 0.0
            if self._saving_sent:
                self._saving_sent = False
                self.resume(self._before)

    def look(self, now: float) -> None:
        """Send `checkpoint` when one has been taking long; called from the sender's thread."""
        since = self._saving_since
        if since and not self._saving_sent and now - since > _SHORTEST_SAVE_SECONDS:
            self._saving_sent = True
            if self.current not in ("checkpoint", SHUTDOWN):
                self.current = "checkpoint"
                self._emit("checkpoint", since)
