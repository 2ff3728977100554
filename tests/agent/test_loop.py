"""How often the main thread wakes."""

import time
from types import SimpleNamespace
from typing import Any

from rankscope.agent.inbox import ProbeInbox
from rankscope.agent.loop import AgentLoop


class ToldSelector:
    """Waits on a clock of its own: for the next reading, or as long as it may."""

    def __init__(self, readings: list[float]) -> None:
        self.at = 0.0
        self.wakeups = 0
        self.loop: Any = None
        self._readings = readings
        self.came: list[tuple[None, list[Any], float]] = []

    def register(self, *_: object) -> None: ...

    def select(self, wait: float) -> list[tuple[Any, int]]:
        self.wakeups += 1
        if not self._readings:
            self.loop.stop()
            return []
        if self._readings[0] > self.at + wait:
            self.at += wait
            return []
        self.at = max(self.at, self._readings.pop(0))
        self.came.append((None, [], self.at))
        return [(SimpleNamespace(fd=0, data=None), 1)]


def loop(selector: ToldSelector, flushed: list[float]) -> AgentLoop:
    nothing: Any = SimpleNamespace

    def taken() -> list[Any]:
        came, selector.came = selector.came, []
        return came

    parts: dict[str, Any] = {
        "selector": selector,
        "exits": nothing(waiting=False, ended=lambda _: ()),
        "handover": nothing(
            descriptor=0,
            woken=lambda: None,
            wake=lambda: None,
            emitted=tuple,
            readings=taken,
        ),
        "routing": nothing(route=lambda *_: None, forget_silent=lambda **_: None),
        "fault_tracker": nothing(tick=lambda _: ()),
        "support": nothing(flush=lambda: None),
        "outgoing": nothing(flush=lambda: flushed.append(selector.at)),
        "health": nothing(show=lambda *_: None, count=lambda *_: None),
    }
    idle: dict[str, Any] = {
        "sources": [],
        "inbox": ProbeInbox(health=parts["health"]),
        "readings": [],
        "trainers": (),
        "hung": None,
    }
    found = AgentLoop(**parts, **idle, writer=nothing(), flush_seconds=1.0, now=lambda: selector.at)
    selector.loop = found
    return found


def test_readings_that_come_a_little_early_or_late_wake_the_loop_once_a_second(monkeypatch):
    readings = [second + 0.004 * (second % 3) for second in range(60)]
    selector = ToldSelector(list(readings))
    flushed: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: selector.at)
    loop(selector, flushed).run()
    assert selector.wakeups == len(readings) + 1
    assert flushed == readings


def test_without_readings_the_loop_flushes_at_its_own_pace(monkeypatch):
    selector = ToldSelector([10.5])
    flushed: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: selector.at)
    loop(selector, flushed).run()
    assert flushed == [*map(float, range(11))]
