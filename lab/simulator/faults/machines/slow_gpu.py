"""gpu.slow: a device takes longer for the same work, and nothing it reports says why."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats, device_index
from ...shape import Cluster, Scenario, Strength
from . import effects


@dataclass(frozen=True, slots=True)
class SlowGpu:
    """`drag` is the factor on the device's time."""

    id: ClassVar[str] = "gpu.slow"
    onset: float
    host: int
    place: int
    slots: int
    until: float = float("inf")
    drag: float = 1.3

    @classmethod
    def drawn(
        cls, scenario: Scenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        """Return how slow it gets, and for how long."""
        drag = effects.slower(random, strength)
        return {"drag": drag, **effects.lasting(random, scenario.seconds)}

    def act(self, state: Conditions, at: float) -> None:
        """Slow the device down."""
        if not self.onset <= at < self.until:
            return
        state.drag[device_index(self.host, self.place, self.slots)] = self.drag

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        """Return the device."""
        return effects.gpu(seats, self.host, self.place)
