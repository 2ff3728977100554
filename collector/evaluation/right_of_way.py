"""Evaluation waits while senders wait for their acknowledgement, for both need one interpreter.

What a second shows may be found some milliseconds later, while a sender that is not answered holds
up its next report. So evaluation pauses before a piece of work while payloads wait, never for long
at a time, and not once it is behind.
"""

import time
from collections.abc import Callable

_MOST_SECONDS = 0.1
"""So long evaluation waits at a time."""
_OWN_SECONDS = 0.05
"""So long it goes on after a whole pause that did not end the waiting."""
_BEHIND_SECONDS = 0.5
_LOOK_SECONDS = 0.002


class RightOfWay:
    """Has evaluation pause for what is more urgent; for its thread."""

    def __init__(
        self,
        *,
        waiting: Callable[[], bool],
        behind: Callable[[], float],
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take what tells whether somebody waits, and by how many seconds evaluation is behind."""
        self._waiting = waiting
        self._behind = behind
        self._now = now
        self._sleep = sleep
        self._own_until = 0.0

    def give(self) -> None:
        """Pause while somebody waits, where evaluation can afford it."""
        if not self._waiting():
            return
        began = self._now()
        if began < self._own_until or self._behind() > _BEHIND_SECONDS:
            return
        while self._waiting():
            if self._now() - began >= _MOST_SECONDS:
                self._own_until = self._now() + _OWN_SECONDS
                return
            self._sleep(_LOOK_SECONDS)
