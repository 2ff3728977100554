"""gpu.power_limited: less power than its peers have holds a device's clocks down, or a host's."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...devices import limit_for
from ...placement import RankSeats
from ...shape import SimulatedCluster, SimulationScenario, Strength
from .. import places, requirements
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
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        low, high = (0.9, 0.95) if strength == "weak" else (0.5, 0.85)
        brake = strength == "plain" and random.random() < 0.3
        return {
            "clock": float(random.uniform(low, high)),
            "by": "brake" if brake else "limit",
            "whole_host": bool(random.random() < (0.7 if brake else 0.3)),
            **effects.lasting(random, scenario.seconds),
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
