"""When a port's error counter grew too fast: reported at once, folded while it lasts, then cleared.

The limits are those of the fault knowledge (vocabulary/device_faults/infiniband.toml). To evaluate
one node's own counters takes no peers, so it is done here.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ....vocabulary.device_faults.thresholds import CounterThreshold
from ....vocabulary.samples import Event, Scalar
from .inventory import NetworkPort

FOLD_SECONDS = 600.0
"""A fault that lasts is reported again so often."""
QUIET_SECONDS = 600.0
"""A fault is over when its counter has kept below the limit for so long."""

_RANK = {"degraded": 1, "fatal": 2}


@dataclass(slots=True)
class _CounterState:
    """One counter of one port: what it grew by lately, and the fault that is open, if any."""

    increments: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])
    read_at: float = -math.inf
    grade: str = ""
    crossed_at: float = -math.inf
    reported_at: float = -math.inf
    count: int = 0
    text: str = ""


class ThresholdCrossings:
    """Evaluates increments; `now` is given with each. Keeps those within the longest time range."""

    def __init__(
        self,
        limits: Mapping[str, tuple[CounterThreshold, ...]],
        *,
        emit: Callable[[Event], None],
    ) -> None:
        self._limits = limits
        self._emit = emit
        self._states: dict[tuple[str, str], _CounterState] = {}

    def take(self, port: NetworkPort, code: str, grown: int, now: float) -> None:
        """Note by how much a counter grew since it was last read."""
        limits = self._limits.get(code)
        if limits is None:
            return
        key = (port.key, code)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _CounterState()
        elapsed, state.read_at = now - state.read_at, now
        if not grown and not state.grade:
            return
        if grown:
            state.increments.append((now, grown))
        longest = max(elapsed if math.isfinite(elapsed) else 0.0, *(one.seconds for one in limits))
        while state.increments and state.increments[0][0] <= now - longest:
            state.increments.popleft()
        crossed = _crossed(limits, state.increments, now, elapsed) if grown else None
        if crossed is not None:
            self._raise(port, code, state, *crossed, grown=grown, now=now)
        elif state.grade and now - state.crossed_at >= QUIET_SECONDS:
            minutes = QUIET_SECONDS / 60
            self._report(
                port, code, state, "cleared", f"{code}: quiet for {minutes:.0f} minutes", now
            )
            state.grade, state.count = "", 0

    def _raise(
        self,
        port: NetworkPort,
        code: str,
        state: _CounterState,
        grade: str,
        text: str,
        *,
        grown: int,
        now: float,
    ) -> None:
        state.crossed_at = now
        state.count += grown
        if _RANK[grade] > _RANK.get(state.grade, 0):
            state.grade, state.text = grade, text
            self._report(port, code, state, "raised", text, now)
        elif now - state.reported_at >= FOLD_SECONDS:
            self._report(port, code, state, "lasting", text, now)

    def _report(
        self, port: NetworkPort, code: str, state: _CounterState, change: str, text: str, now: float
    ) -> None:
        pairs: dict[str, Scalar] = {
            "device": port.device,
            "port": port.port,
            "code": code,
            "class": state.grade,
            "text": text,
            "count": state.count,
            "state": change,
        }
        state.reported_at, state.count = now, 0
        self._emit(Event("network.fault", now, pairs))


def _crossed(
    limits: tuple[CounterThreshold, ...],
    increments: deque[tuple[float, int]],
    now: float,
    elapsed: float,
) -> tuple[str, str] | None:
    """Return the worst (class, text) that holds now.

    A limit for a stretch shorter than the time between two readings is held against their mean;
    over a time that nobody knows (the agent was away) only one that any increment breaks can be.
    """
    worst: tuple[str, str] | None = None
    for limit in limits:
        stretch = max(limit.seconds, elapsed)
        total = sum(count for at, count in increments if at > now - stretch)
        for grade, most in (("fatal", limit.fatal), ("degraded", limit.degraded)):
            if most is None or (worst is not None and _RANK[grade] <= _RANK[worst[0]]):
                continue
            if most and not math.isfinite(elapsed):
                continue
            if total > (most * stretch / limit.seconds if most else 0):
                worst = (grade, _text(limit, most, total, stretch))
    return worst


def _text(limit: CounterThreshold, most: float, total: int, stretch: float) -> str:
    within = f" in {stretch:.0f} s" if math.isfinite(stretch) else " while the agent was away"
    allowed = f"; more than {most:g} in {limit.seconds:g} s is too many" if most else ""
    return f"{limit.counter} grew by {total}{within}{allowed}: {limit.meaning}"
