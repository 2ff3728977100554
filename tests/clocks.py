"""Clocks that tests set: in seconds since the epoch."""

from dataclasses import dataclass

from rankscope.vocabulary.clock import SystemClock


@dataclass
class SetClock:
    """Stands, until a test sets `at`."""

    at: float

    def now(self) -> float:
        return self.at


@dataclass
class ShiftedClock(SystemClock):
    """The machine's clock, put `ahead`."""

    ahead: float = 0.0

    def now(self) -> float:
        return super().now() + self.ahead
