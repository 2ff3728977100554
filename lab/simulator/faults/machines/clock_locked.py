"""gpu.clock_locked: a clock setting that somebody forgot holds a cool device down."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...devices import under_limit
from ...shape import SimulationScenario, Strength
from .. import places, requirements


@dataclass(frozen=True, slots=True)
class ClockLockedFault(places.OnDevice):
    """`clock` is the setting as a ratio to the highest clock."""

    id: ClassVar[str] = "gpu.clock_locked"
    needs: ClassVar = (requirements.with_devices,)
    until: float = float("inf")
    clock: float = 0.7

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        low, high = (0.9, 0.94) if strength == "weak" else (0.45, 0.85)
        free = under_limit(scenario.cluster.power_cap)
        found: dict[str, Any] = {"clock": free * float(random.uniform(low, high))}
        if random.random() < 0.4:
            found["onset"] = scenario.jobs[0].starts_after + 1.0
        return found

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        slot = self.slot
        state.devices.lock[slot] = min(self.clock, 1.0)
