"""gpu.clock_locked: a clock setting that somebody forgot holds a cool device down."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .....vocabulary import entities
from ...conditions import Conditions
from ...devices import under_limit
from ...placement import Seats, device_index
from ...shape import Cluster, Scenario, Strength
from .. import requirements
from . import effects


@dataclass(frozen=True, slots=True)
class ClockLocked:
    """`clock` is the setting as a ratio to the highest clock."""

    id: ClassVar[str] = "gpu.clock_locked"
    needs: ClassVar = (requirements.with_devices,)
    onset: float
    host: int
    place: int
    slots: int
    until: float = float("inf")
    clock: float = 0.7

    @classmethod
    def drawn(
        cls, scenario: Scenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        """Return the setting; as a rule it was there before the job."""
        low, high = (0.9, 0.94) if strength == "weak" else (0.45, 0.85)
        free = under_limit(scenario.cluster.power_cap)
        found: dict[str, Any] = {"clock": free * float(random.uniform(low, high))}
        if random.random() < 0.4:
            found["onset"] = scenario.jobs[0].starts_after + 1.0
        return found

    def act(self, state: Conditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        slot = device_index(self.host, self.place, self.slots)
        state.devices.lock[slot] = min(self.clock, 1.0)

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        """Return the device."""
        return effects.gpu(seats, self.host, self.place)
