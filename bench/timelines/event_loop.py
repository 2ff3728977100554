"""Discrete events: processes are generators that wait for a time or for a signal."""

import heapq
import itertools
from collections.abc import Callable, Generator


class WaitSignal:
    """Fires once; whoever waits goes on, and whoever comes later does not wait."""

    __slots__ = ("fired", "waiting")

    def __init__(self) -> None:
        self.fired = False
        self.waiting: list[EventProcess] = []


EventProcess = Generator[float | WaitSignal, None, None]


class EventLoop:
    """Runs processes in the order of simulated time, then of their arrival."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, EventProcess | Callable[[], None]]] = []
        self._order = itertools.count()

    def spawn(self, process: EventProcess, at: float | None = None) -> EventProcess:
        self._push(self.now if at is None else at, process)
        return process

    def call(self, at: float, action: Callable[[], None]) -> None:
        self._push(max(at, self.now), action)

    def fire(self, signal: WaitSignal) -> None:
        signal.fired = True
        for process in signal.waiting:
            self._push(self.now, process)
        signal.waiting = []

    def run(self, until: float) -> None:
        """Run everything up to a time. A closed generator is a dead process: it is let go."""
        while self._heap and self._heap[0][0] <= until:
            self.now, _, what = heapq.heappop(self._heap)
            if isinstance(what, Generator):
                self._resume(what)
            else:
                what()
        self.now = until

    def _resume(self, process: EventProcess) -> None:
        for wish in process:
            if isinstance(wish, WaitSignal):
                if wish.fired:
                    continue
                wish.waiting.append(process)
            else:
                self._push(self.now + wish, process)
            return

    def _push(self, at: float, what: EventProcess | Callable[[], None]) -> None:
        heapq.heappush(self._heap, (at, next(self._order), what))
