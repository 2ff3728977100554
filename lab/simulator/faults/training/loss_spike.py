"""numerics.loss_spike: the loss jumps up within a step, and comes back or does not."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places
from . import preparing


@dataclass(frozen=True, slots=True)
class LossSpikeFault(places.OfJob):
    """`height` as a share of the loss; `steps` until two thirds of it are gone (inf: never)."""

    id: ClassVar[str] = "numerics.loss_spike"
    height: float = 0.8
    steps: float = 15.0

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        height = preparing.drawn(random, strength, plain=(0.4, 1.5), weak=(0.12, 0.25))
        steps = float("inf") if preparing.flip(random, 0.4) else float(random.uniform(6, 40))
        return {"height": height, "steps": steps}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.spike = self.height
            state.training.numerics.spike_steps = self.steps
