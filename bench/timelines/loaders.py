"""A rank's loader: produces batches ahead into a queue, from storage, on the host's cores."""

from random import Random

from .event_loop import EventLoop, EventProcess, WaitSignal
from .hosts import HostState


class BatchLoader:
    """`seconds`: what a batch takes on a quiet host, on average; `slow`: a fault's factor."""

    def __init__(
        self, loop: EventLoop, host: HostState, rng: Random, seconds: float, depth: int
    ) -> None:
        self.loop, self.host, self.rng = loop, host, rng
        self.seconds, self.depth, self.slow = seconds, depth, 1.0
        self.sigma = 0.15
        self.tail_chance, self.tail_seconds = 0.0, 0.0
        self.ready = 0
        self.filled = WaitSignal()
        self._space = WaitSignal()

    def produce(self) -> EventProcess:
        while True:
            if self.ready >= self.depth:
                self._space = WaitSignal()
                yield self._space
            reading = 0.4 * self.host.storage_slow
            took = self.seconds * self.slow * (0.6 * self.host.contention() + reading)
            if self.rng.random() < self.tail_chance:
                took += self.tail_seconds * self.host.storage_slow
            busy = 0.3 * self.seconds * self.host.storage_slow
            self.host.disk_queue += busy / max(1, self.host.trainers)
            yield took * self.rng.lognormvariate(-(self.sigma**2) / 2.0, self.sigma)
            self.ready += 1
            self.loop.fire(self.filled)

    def take(self) -> EventProcess:
        while not self.ready:
            self.filled = WaitSignal()
            yield self.filled
        self.ready -= 1
        self.loop.fire(self._space)

    def empty(self) -> None:
        """Throw away what was prefetched, as a new epoch does."""
        self.ready = 0
        self.loop.fire(self._space)
