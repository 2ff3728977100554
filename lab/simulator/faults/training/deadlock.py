"""software.deadlock: ranks wait for each other in two groups, each side in the other's way."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements


@dataclass(frozen=True, slots=True)
class DeadlockFault(places.OfJob):
    """Half of the ranks wait in their data-parallel group, the rest in the group of the metrics."""

    id: ClassVar[str] = "software.deadlock"
    needs: ClassVar = (requirements.with_replicas,)

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        return requirements.changed(scenario, second_group=True)

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        return {}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.deadlock = True
