"""gpu.thermal_throttle: heat holds the clocks of a device down, or of all devices of a host."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...placement import RankSeats
from ...shape import SimulatedCluster
from .. import places, requirements
from ..draws import FaultDraw
from . import effects


@dataclass(frozen=True, slots=True)
class ThermalThrottleFault(places.AtPlace):
    """Cooling fails, so that the device settles at `clock`, a ratio to what it reached before.

    It takes `ramp` seconds to get so far; `whole_host`: all its devices (a wall of fans).
    """

    id: ClassVar[str] = "gpu.thermal_throttle"
    needs: ClassVar = (requirements.with_devices,)
    until: float = float("inf")
    clock: float = 0.6
    ramp: float = 20.0
    whole_host: bool = False

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {
            **effects.failing_cooling(draw),
            "whole_host": draw.flip(0.3),
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        force = effects.force(at, self.onset, self.ramp)
        for slot in effects.slots_of(self.host, self.place, self.slots, whole_host=self.whole_host):
            effects.heat(state, slot, clock=self.clock, force=force)

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return the device, or the host when all its devices are."""
        if self.whole_host:
            return places.host(seats, self.host)
        return places.gpu(seats, self.host, self.place)
