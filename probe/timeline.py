"""The step in progress; owned by the thread that trains.

Spans are added to `open` as they end; `close` completes it and begins the next. Only floats and
references are kept: reading, judging and encoding is the sender thread's work.
"""

import threading
import time
from collections.abc import Callable

from .step_record import StepRecord


class Timeline:
    """Steps one after the other, end to end. `wall` is seconds since the epoch."""

    __slots__ = (
        "began",
        "begun",
        "explicit",
        "index",
        "open",
        "saving",
        "steps",
        "thread",
        "waiting",
        "wall",
    )

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self.wall = wall
        self.began = time.perf_counter()
        self.steps = 0
        self.index = -1
        self.begun = False
        self.explicit = False
        self.waiting = False
        self.saving = False
        self.thread = threading.get_ident()
        self.open = StepRecord()

    def begin_first(self, waited: float = 0.0) -> None:
        """Begin the first step at its first sign, not when the probe came: set-up is no step.

        `waited`: seconds already spent on its batch, the first sign of all.
        """
        if not self.begun:
            self.begun = True
            self.began = time.perf_counter() - waited
            self.open.gc = 0.0

    def close(self, index: int | None) -> StepRecord:
        """End the step now, begin the next, and return what is known of the one that ended."""
        now = time.perf_counter()
        record = self.open
        record.at = self.wall()
        self.index = record.step = self.index + 1 if index is None else index
        record.duration = now - self.began
        record.own_known = record.own_known or self.explicit
        self.open = StepRecord()
        self.began = now
        self.steps += 1
        self.thread = threading.get_ident()
        return record
