"""unknown: every rank is slower, and nothing says why."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class JobSlowdownFault(places.OfJob):
    """`factor` on everybody's time; no change, no sign of hardware."""

    id: ClassVar[str] = "unknown"
    factor: float = 1.2
    until: float = float("inf")

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        return requirements.changed(scenario, restarts=())

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        factor = preparing.drawn(random, strength, plain=(1.12, 1.5), weak=(1.05, 1.1))
        return {"factor": factor}

    def act(self, state: ClusterConditions, at: float) -> None:
        if self.onset <= at < self.until:
            state.drag *= self.factor
