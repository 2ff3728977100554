"""How long the intake waits for more payloads before it writes a group of them.

A write to the disk and the change from one thread to the other cost the same for one payload as for
fifty. Where many senders push each second, a pause of a few milliseconds makes one group of what
they send meanwhile. Few senders, each of which waits for its answer, are never kept waiting.
"""

import time
from collections.abc import Callable

PAUSE_SECONDS = 0.01
MANY_A_SECOND = 200
WORTH_PAYLOADS = 3
"""A pause that brings fewer than these is not: their senders wait for nothing but the pause."""
WATCHED_SECONDS = 0.5
"""How long payloads are counted before it is decided anew."""


class GroupGathering:
    """Decides about pauses by what came lately; for one thread."""

    def __init__(
        self,
        *,
        pause_seconds: float = PAUSE_SECONDS,
        many_a_second: float = MANY_A_SECOND,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`many_a_second`: payloads a second from which on a pause may be worth it."""
        self._pause_seconds = pause_seconds
        self._many = many_a_second
        self._now = now
        self._sleep = sleep
        self._since = now()
        self._count = 0
        self._pausing = False

    def pause(self) -> None:
        """Let more payloads come, where many do."""
        if self._pausing:
            self._sleep(self._pause_seconds)

    def took(self, payloads: int) -> None:
        """Note how many payloads were taken after the pause."""
        self._count += payloads
        if payloads < WORTH_PAYLOADS:
            self._pausing = False
        now = self._now()
        if now - self._since >= WATCHED_SECONDS:
            self._pausing = self._count >= self._many * (now - self._since)
            self._since, self._count = now, 0
