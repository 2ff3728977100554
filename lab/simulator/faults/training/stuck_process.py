"""software.stuck_process: one rank's main thread stops before a collective; its peers wait."""

from dataclasses import dataclass
from typing import ClassVar

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats, device_index, host_name, rank_of
from ...shape import Cluster


@dataclass(frozen=True, slots=True)
class StuckProcess:
    """`point` is where in its own work of the step it stops (1 = end of backward).

    `busy` reports whether it burns its CPU (an endless loop) or sleeps (a lock). With `until` it
    goes on at that time.
    """

    id: ClassVar[str] = "software.stuck_process"
    onset: float
    host: int
    place: int
    slots: int
    until: float = float("inf")
    point: float = 0.6
    busy: bool = False

    def act(self, state: Conditions, at: float) -> None:
        """Stop the rank."""
        if not self.onset <= at < self.until:
            return
        slot = device_index(self.host, self.place, self.slots)
        state.stopped[slot] = self.point
        state.busy_stop[slot] = self.busy
        state.released = self.until

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        """Return the rank."""
        return entities.rank(rank_of(seats, self.host, self.place), host_name(self.host))
