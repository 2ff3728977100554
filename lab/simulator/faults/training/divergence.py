"""numerics.divergence: the loss rises steadily and does not come back."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places
from . import preparing


@dataclass(frozen=True, slots=True)
class DivergenceFault(places.OfJob):
    """`rate` is the growth per step, as a share of the loss."""

    id: ClassVar[str] = "numerics.divergence"
    rate: float = 0.02

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        rate = preparing.drawn(random, strength, plain=(0.01, 0.04), weak=(0.003, 0.006))
        return {"rate": rate}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.divergence = self.rate
