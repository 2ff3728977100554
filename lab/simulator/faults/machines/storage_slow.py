"""host.storage_slow: reads and writes of the job's data take longer, on one host or on all."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from .....vocabulary.ranks import RankSet
from ...conditions import ClusterConditions
from ...nodes import LOCAL_MOUNT, SHARED_MOUNT
from ...placement import RankSeats, host_name, ranks_of_host
from ...shape import SimulatedCluster
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class StorageSlowFault:
    """`factor` is how much longer they take. `shared`: the server of a mount that all hosts have.

    Of a local disk its own counters tell; of a server only that tasks wait.
    """

    id: ClassVar[str] = "host.storage_slow"
    onset: float
    host: int
    until: float = float("inf")
    factor: float = 20.0
    shared: bool = False

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {
            "factor": draw.of_step(draw.job.data),
            "shared": draw.flip(0.4),
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        nodes, hit = state.nodes, slice(None) if self.shared else slice(self.host, self.host + 1)
        strain = min(1.0, (self.factor - 1) / 15)
        nodes.storage[hit] *= self.factor
        nodes.waiting[hit] += 0.1 + 0.35 * strain
        nodes.blocked[hit] += 1.0 + 3 * strain
        if not self.shared:
            nodes.disk[hit] += 0.6 + 0.38 * strain

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return the mount, of all or of the host."""
        if self.shared:
            return entities.Entity("storage", SHARED_MOUNT, None, RankSet(range(seats.world)))
        name = host_name(self.host)
        ranks = RankSet(ranks_of_host(seats, self.host))
        return entities.Entity("storage", f"{name}:{LOCAL_MOUNT}", name, ranks)
