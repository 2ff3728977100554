"""numerics.plateau: the loss was falling and stops, though the gradients are there."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class PlateauFault(places.OfJob):
    """The "schedule" sets the learning rate to almost nothing, or updates are "frozen" unseen."""

    id: ClassVar[str] = "numerics.plateau"
    how: Literal["schedule", "frozen"] = "schedule"

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        job = preparing.first(scenario)
        steps = scenario.seconds / job.step_seconds
        return requirements.changed(scenario, loss_steps=max(0.4 * steps, 5.0), loss_power=1.2)

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        frozen = strength == "weak" or preparing.flip(random)
        return {"how": "frozen" if frozen else "schedule"}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            if self.how == "schedule":
                state.training.numerics.rate = 1e-3
            else:
                state.training.numerics.frozen = True
