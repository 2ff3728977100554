"""gpu.power_limited: less power than its peers have holds a device's clocks down, or a host's."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...devices import limit_for
from ...placement import RankSeats
from ...shape import SimulatedCluster
from .. import places, requirements
from ..draws import FaultDraw
from . import effects


@dataclass(frozen=True, slots=True)
class PowerLimitedFault(places.AtPlace):
    """A lower power limit lets the device settle at `clock`, a ratio to what it reached before.

    by: "limit" (somebody set it: it shows) or "brake" (the power supply asks for less: the hardware
    halves the clocks). `whole_host`: all its devices.
    """

    id: ClassVar[str] = "gpu.power_limited"
    needs: ClassVar = (requirements.with_devices,)
    until: float = float("inf")
    clock: float = 0.7
    by: Literal["limit", "brake"] = "limit"
    whole_host: bool = False

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        brake = not draw.weak and draw.flip(0.3)
        return {
            "clock": draw.between(plain=(0.5, 0.85), weak=(0.9, 0.95)),
            "by": "brake" if brake else "limit",
            "whole_host": bool(draw.random.random() < (0.7 if brake else 0.3)),
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        for slot in effects.slots_of(self.host, self.place, self.slots, whole_host=self.whole_host):
            if self.by == "brake":
                state.devices.brake[slot] = True
            else:
                target = self.clock * effects.free_clock(state, slot)
                state.devices.limit[slot] = min(state.devices.limit[slot], limit_for(target))

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return the device, or the host when all its devices are."""
        if self.whole_host:
            return places.host(seats, self.host)
        return places.gpu(seats, self.host, self.place)
