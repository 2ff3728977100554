"""unknown: every rank is slower, and nothing says why."""

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
class JobSlowdown:
    """`factor` on everybody's time; no change, no sign of hardware."""

    id: ClassVar[str] = "unknown"
    onset: float
    factor: float = 1.2
    until: float = float("inf")

    @classmethod
    def prepared(cls, scenario: Scenario, random: np.random.Generator) -> Scenario:
        """Return the scenario without restarts."""
        return requirements.changed(scenario, restarts=())

    @classmethod
    def drawn(
        cls, scenario: Scenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        """Return how much slower."""
        factor = preparing.drawn(random, strength, plain=(1.12, 1.5), weak=(1.05, 1.1))
        return {"factor": factor}

    def act(self, state: Conditions, at: float) -> None:
        """Slow everybody down."""
        if self.onset <= at < self.until:
            state.drag *= self.factor

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        return preparing.the_job(job, seats)
