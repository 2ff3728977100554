"""gpu.slow: a device takes longer for the same work, and nothing it reports says why."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats, device_id, device_index, host_name, rank_of
from ...shape import Cluster, Scenario, Strength


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
        cls,
        scenario: Scenario,
        random: np.random.Generator,
        strength: Strength,
    ) -> dict[str, Any]:
        """Return how slow it gets."""
        low, high = (1.05, 1.1) if strength == "weak" else (1.15, 2.0)
        return {"drag": float(random.uniform(low, high))}

    def act(self, state: Conditions, at: float) -> None:
        """Slow the device down."""
        if self.onset <= at < self.until:
            state.drag[device_index(self.host, self.place, self.slots)] = self.drag

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        """Return the device."""
        rank = rank_of(seats, self.host, self.place)
        return entities.gpu(device_id(self.host, self.place), host_name(self.host), (rank,))
