"""memory.host_oom: the memory of a host fills up until the kernel kills a rank."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions, ProcessDeath
from ...placement import RankSeats
from ...shape import SimulatedCluster
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class HostOomFault(places.AtPlace):
    """The kill comes at `onset`, after memory rose for `ramp` seconds."""

    id: ClassVar[str] = "memory.host_oom"
    ramp: float = 60.0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"ramp": draw.between(plain=(30, 150), weak=(8, 20))}

    def act(self, state: ClusterConditions, at: float) -> None:
        begun = at - (self.onset - self.ramp)
        if begun <= 0:
            return
        state.swollen[self.host] = 0.62 * min(1.0, begun / self.ramp)
        if at >= self.onset:
            slot = self.slot
            state.deaths[slot] = ProcessDeath(self.onset, signal=9, oom=True)
            state.swollen[self.host] = 0.1

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        return places.host(seats, self.host)
