"""balance.sequence_length: the tokens of a batch are spread unevenly over the ranks."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import Conditions
from ...shape import Scenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class SequenceLength(places.OfJob):
    """`spread` of the tokens per rank and step: whoever has the most is last, another each step."""

    id: ClassVar[str] = "balance.sequence_length"
    needs: ClassVar = (requirements.has_ranks(4),)
    spread: float = 0.5

    @classmethod
    def prepared(cls, scenario: Scenario, random: np.random.Generator) -> Scenario:
        """Return the scenario with even tokens otherwise."""
        return requirements.changed(scenario, variable_length=0.0, attention=0.3)

    @classmethod
    def drawn(
        cls, scenario: Scenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        """Return how uneven, from the first step or later."""
        spread = preparing.drawn(random, strength, plain=(0.3, 0.5), weak=(0.15, 0.22))
        return {"spread": spread, **preparing.steady(random)}

    def act(self, state: Conditions, at: float) -> None:
        """Spread the tokens."""
        if at >= self.onset:
            state.training.lengths = self.spread
