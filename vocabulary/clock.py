"""The clock as an argument: nothing below the service reads the machine's time by itself."""

import time
from typing import Protocol


class Clock(Protocol):
    """Something that knows what time it is."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        ...


class SystemClock:
    """The machine's own clock, for the outermost layer of a live process."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()
