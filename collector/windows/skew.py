"""How far each host's clock is off, evaluated from when its telemetry is received.

Telemetry ahead of `now` can only be a clock that is ahead. Telemetry behind may also be a spool
that drains after an outage; but then it catches up within seconds, while a clock that is behind
stays behind by the same amount.
"""

import statistics

TOLERATED_SECONDS = 30.0
"""Smaller offsets are left alone: reporting periods and delays look the same."""

STEADY_SPAN_SECONDS = 20.0
STEADY_SPREAD_SECONDS = 10.0
MEMORY_SECONDS = 120.0
MOST_SEEN = 64


class HostClock:
    """The offset of one host's clock: positive when it is ahead."""

    __slots__ = ("_off", "_seen", "offset")

    def __init__(self) -> None:
        self.offset = 0.0
        self._seen: list[tuple[float, float]] = []
        """A list: an empty deque has room for 64, and hosts are many."""
        self._off = 0
        """How many of them are not tolerated."""

    def update(self, newest: float, now: float) -> float:
        """Take the newest event time of a batch; return the offset to subtract."""
        seen = self._seen
        seen.append((now, newest - now))
        self._off += abs(newest - now) >= TOLERATED_SECONDS
        while now - seen[0][0] > MEMORY_SECONDS or len(seen) > MOST_SEEN:
            self._off -= abs(seen.pop(0)[1]) >= TOLERATED_SECONDS
        if not self._off:
            self.offset = 0.0
            return 0.0
        recent = [offset for _, offset in seen]
        middle = statistics.median(recent)
        if abs(middle) < TOLERATED_SECONDS:
            self.offset = 0.0
        elif middle > 0 or self._steady(recent):
            # Kept until it moves by more than reporting jitter, so that one step's points,
            # received in two batches, still share one time.
            if abs(middle - self.offset) > STEADY_SPREAD_SECONDS:
                self.offset = middle
        else:
            self.offset = 0.0
        return self.offset

    def _steady(self, recent: list[float]) -> bool:
        span = self._seen[-1][0] - self._seen[0][0]
        return span >= STEADY_SPAN_SECONDS and max(recent) - min(recent) <= STEADY_SPREAD_SECONDS
