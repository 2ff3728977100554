"""network.congestion: collectives between hosts take longer for everybody; no rank is late."""

from dataclasses import dataclass
from typing import ClassVar

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats
from ...shape import Cluster


@dataclass(frozen=True, slots=True)
class NetworkSlow:
    """`factor` is how much longer the collectives take."""

    id: ClassVar[str] = "network.congestion"
    onset: float
    until: float = float("inf")
    factor: float = 3.0

    def act(self, state: Conditions, at: float) -> None:
        """Slow the network down."""
        if self.onset <= at < self.until:
            state.network = self.factor
            state.congested = True

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        """Return the job."""
        return entities.job(job, tuple(range(seats.world)))
