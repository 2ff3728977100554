"""memory.host_leak: a trainer's process keeps host memory that it does not need."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...memory import HOST_MEMORY
from ...placement import RankSeats
from ...shape import SimulatedCluster
from .. import places
from ..draws import FaultDraw
from . import preparing


@dataclass(frozen=True, slots=True)
class HostLeakFault(places.AtPlace):
    """`rate` is the share of the host's memory per minute."""

    id: ClassVar[str] = "memory.host_leak"
    rate: float = 0.02

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"rate": draw.between(plain=(0.012, 0.04), weak=(0.003, 0.006))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            slot = self.slot
            held = self.rate / 60 * HOST_MEMORY * (at - self.onset)
            state.training.trainer_held[slot] = held

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        return preparing.the_process(seats, self.host, self.place)
