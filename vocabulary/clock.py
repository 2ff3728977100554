"""The clock as an argument: nothing below the service reads the machine's time by itself."""

import threading
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Something that says what time it is."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        ...


class SystemClock:
    """The machine's own clock, for the outermost layer of a live process."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()


SLEW = 0.01
"""How much faster or slower than the monotonic clock time may run while it follows the system's."""

STEP_SECONDS = 1.0
"""A larger difference is a step: somebody set the system's clock, perhaps by mistake."""

LASTING_SECONDS = 120.0
"""A step that has lasted for so long is accepted: forward at once, backward by running slowly."""

_BACKWARD_RATE = 0.5
"""How fast time runs while the system's clock has been behind for long."""


class SlewedClock:
    """The system's clock without its jumps: it goes by the monotonic clock and never goes back.

    Small differences are slewed away by at most `SLEW`. A clock that is set an hour ahead and put
    right a minute later changes nothing. Safe to call from any thread.
    """

    def __init__(
        self,
        *,
        system: Callable[[], float] = time.time,
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        self._system = system
        self._monotonic = monotonic or _since_boot
        self._lock = threading.Lock()
        self._now = system()
        self._read_at = self._monotonic()
        self._stepped_at: float | None = None
        self._step = 0.0

    def now(self) -> float:
        """Return seconds since the epoch."""
        with self._lock:
            read_at = self._monotonic()
            passed = max(read_at - self._read_at, 0.0)
            self._read_at = read_at
            self._now += passed
            difference = self._system() - self._now
            if abs(difference) <= STEP_SECONDS:
                self._stepped_at = None
                self._now += max(-SLEW * passed, min(SLEW * passed, difference))
            else:
                self._follow(difference, passed)
            return self._now

    def _follow(self, difference: float, passed: float) -> None:
        """Accept a step once it has lasted."""
        if self._stepped_at is None or abs(difference - self._step) > STEP_SECONDS:
            self._stepped_at = self._read_at
        self._step = difference
        if self._read_at - self._stepped_at < LASTING_SECONDS:
            return
        if difference > 0:
            self._now += difference
            self._stepped_at = None
        else:
            self._now -= min(_BACKWARD_RATE * passed, -difference)
            # Ours alone: the step is smaller now, and still the same step.
            self._step = difference + min(_BACKWARD_RATE * passed, -difference)


def _since_boot() -> float:
    """Return monotonic seconds, those of a suspended machine included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
