"""numerics.nan_precision: half precision overflows at every loss scale, down to none."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements


@dataclass(frozen=True, slots=True)
class NanPrecisionFault(places.OfJob):
    """The scale halves at each step; when nothing is left to halve the values become NaN."""

    id: ClassVar[str] = "numerics.nan_precision"

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        scale = float(random.choice([2.0**12, 2.0**16, 2.0**20]))
        return requirements.changed(
            scenario, loss_scale=scale, loss_scale_fits=scale, guards_numerics=True
        )

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        return {}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.overflows = True
