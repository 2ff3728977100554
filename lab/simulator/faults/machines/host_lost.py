"""host.lost: a host falls silent, its ranks with it; the peers wait for it."""

from dataclasses import dataclass
from typing import ClassVar

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats, host_name, ranks_of_host
from ...shape import Cluster


@dataclass(frozen=True, slots=True)
class HostLost:
    """Power, kernel or network: from outside it is the same silence."""

    id: ClassVar[str] = "host.lost"
    onset: float
    host: int

    def act(self, state: Conditions, at: float) -> None:
        """Silence the host."""
        if at >= self.onset:
            state.silent[self.host] = True
            state.lost_at = self.onset

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        """Return the host."""
        return entities.host(host_name(self.host), ranks_of_host(seats, self.host))
