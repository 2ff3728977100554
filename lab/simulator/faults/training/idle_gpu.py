"""efficiency.idle_gpu: the job keeps its devices and does nothing with them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats
from ...shape import Cluster, Scenario, Strength
from .. import requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class IdleGpu:
    """A notebook left open, a trainer that waits for an answer: no collective is open."""

    id: ClassVar[str] = "efficiency.idle_gpu"
    needs: ClassVar = (requirements.has_devices,)
    onset: float
    until: float = float("inf")

    @classmethod
    def drawn(
        cls, scenario: Scenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        """Return nothing: there is nothing to choose."""
        return {}

    def act(self, state: Conditions, at: float) -> None:
        """Do nothing."""
        if self.onset <= at < self.until:
            state.training.idle = True

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        return preparing.the_job(job, seats)
