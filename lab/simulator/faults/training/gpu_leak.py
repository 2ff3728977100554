"""memory.gpu_leak: tensors that nobody needs stay on the device, more with every step."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...placement import RankSeats
from ...shape import SimulatedCluster
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class GpuLeakFault(places.AtPlace):
    """`rate` is the share of the device's memory per minute; `whole_job`: on every rank alike."""

    id: ClassVar[str] = "memory.gpu_leak"
    needs: ClassVar = (requirements.has_devices,)
    rate: float = 0.03
    whole_job: bool = False

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        rate = draw.between(plain=(0.02, 0.06), weak=(0.007, 0.012))
        return {"rate": rate, "whole_job": draw.flip()}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        held = self.rate / 60 * (at - self.onset)
        if self.whole_job:
            state.training.device_held[:] = held
        else:
            state.training.device_held[self.slot] = held

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        if self.whole_job:
            return places.whole_job(job, seats)
        return places.rank(seats, self.host, self.place)
