"""memory.copy_on_read: reading objects inherited through fork copies their pages."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...memory import GIB
from ...placement import RankSeats
from ...shape import SimulatedCluster, SimulationScenario
from .. import places
from ..draws import FaultDraw
from . import preparing


@dataclass(frozen=True, slots=True)
class CopyOnReadFault(places.AtPlace):
    """Reference counts are written on every read: in `seconds` all inherited pages are private.

    Resident memory stays as it is, private memory grows, shared memory falls by as much, and the
    memory of the host fills; it ends when everything is copied.
    """

    id: ClassVar[str] = "memory.copy_on_read"
    seconds: float = 150.0

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        inherited = float(draw.random.uniform(2.0, 3.2)) * GIB
        workers = max(draw.job.workers, 4)
        return draw.changed(workers=workers, inherited=inherited)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"seconds": draw.between(plain=(60.0, 200.0), weak=(250.0, 500.0))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            slot = self.slot
            state.training.copied[slot] = min(1.0, (at - self.onset) / self.seconds)

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return the first of the workers."""
        return preparing.the_process(seats, self.host, self.place, worker=0)
