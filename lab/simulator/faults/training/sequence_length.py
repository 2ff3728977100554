"""balance.sequence_length: the tokens of a batch are spread unevenly over the ranks."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class SequenceLengthFault(places.OfJob):
    """`spread` of the tokens per rank and step: whoever has the most is last, another each step."""

    id: ClassVar[str] = "balance.sequence_length"
    needs: ClassVar = (requirements.has_ranks(4),)
    spread: float = 0.5

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        return requirements.changed(scenario, variable_length=0.0, attention=0.3)

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        spread = preparing.drawn(random, strength, plain=(0.3, 0.5), weak=(0.15, 0.22))
        return {"spread": spread, **preparing.steady(random)}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.lengths = self.spread
