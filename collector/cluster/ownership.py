"""Which partitions this collector owns: membership gives them and takes them away."""

import threading
from collections.abc import Callable, Mapping

import structlog

from .health import ClusterHealth
from .owned import OwnedPartition

_LOG = structlog.get_logger(__name__)


class PartitionOwnership:
    """The partitions that are owned here. All methods may be called from any thread.

    `begin` makes the partition of a number and an epoch, not started yet.
    """

    def __init__(
        self, begin: Callable[[int, int], OwnedPartition], *, health: ClusterHealth
    ) -> None:
        self._begin = begin
        self._health = health
        self._owned: dict[int, OwnedPartition] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._owned)

    def __contains__(self, number: int) -> bool:
        return number in self._owned

    def get(self, number: int) -> OwnedPartition | None:
        """Return a partition, None where it is not owned here."""
        return self._owned.get(number)

    def partitions(self) -> list[OwnedPartition]:
        """Return every partition, by number."""
        with self._lock:
            return [self._owned[number] for number in sorted(self._owned)]

    def ready(self) -> list[OwnedPartition]:
        """Return the partitions whose state is restored, by number."""
        return [one for one in self.partitions() if one.ready]

    def owns(self, leases: Mapping[int, int], leaving: set[int]) -> None:
        """Own exactly these partitions, by epoch, and begin to hand over those that leave."""
        begun: list[OwnedPartition] = []
        gone: list[OwnedPartition] = []
        with self._lock:
            for number, one in list(self._owned.items()):
                if leases.get(number) != one.epoch:
                    gone.append(self._owned.pop(number))
                elif one.given and number not in leaving:
                    del self._owned[number]  # who was to have it is gone: it is begun again
            for number, epoch in leases.items():
                if number not in self._owned and number not in leaving:
                    self._owned[number] = self._begin(number, epoch)
                    begun.append(self._owned[number])
            left = [self._owned[number] for number in leaving if number in self._owned]
        for one in gone:
            if not one.given:
                _LOG.warning("another collector has taken a partition", partition=one.number)
                self._end(one)
        for one in begun:
            self._health.takeovers.inc()
            one.start()
        for one in left:
            if one.settled:
                one.leave()

    def given(self, leaving: set[int]) -> set[int]:
        """Return those of the leaving partitions whose state is kept for the next owner."""
        with self._lock:
            return {
                number
                for number in leaving
                if number not in self._owned or self._owned[number].given
            }

    def lose(self, number: int) -> None:
        """Let go of a partition whose epoch is over."""
        with self._lock:
            one = self._owned.pop(number, None)
        if one is not None:
            self._end(one)

    def stop(self) -> None:
        """Keep the state of every partition, all at the same time, and own none."""
        ones = self.partitions()
        for one in ones:
            one.leave()
        for one in ones:
            one.stop()
        with self._lock:
            self._owned.clear()

    def _end(self, one: OwnedPartition) -> None:
        """Count a partition as lost, and end it in a thread; its next owner has the state."""
        self._health.lost.inc()
        threading.Thread(target=one.stop, kwargs={"keep": False}, daemon=True).start()
