"""memory.dataloader_leak: a rank's data loader workers keep memory of their own."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...memory import HOST_MEMORY
from ...placement import RankSeats
from ...shape import SimulatedCluster
from .. import places, requirements
from ..draws import FaultDraw
from . import preparing


@dataclass(frozen=True, slots=True)
class DataloaderLeakFault(places.AtPlace):
    """`rate` is the share of the host's memory per minute, of all workers of the rank together.

    Their private memory grows and what they share with the trainer stays.
    """

    id: ClassVar[str] = "memory.dataloader_leak"
    needs: ClassVar = (requirements.with_workers,)
    workers: int = 2
    rate: float = 0.02

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        rate = draw.between(plain=(0.01, 0.03), weak=(0.002, 0.004))
        return {"rate": rate, "workers": draw.job.workers or 2}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            slot = self.slot
            held = self.rate / 60 * HOST_MEMORY * (at - self.onset)
            state.training.worker_held[slot] = held / self.workers

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return the first of the workers."""
        return preparing.the_process(seats, self.host, self.place, worker=0)
