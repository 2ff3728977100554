"""software.uneven_batches: a rank has fewer batches and leaves the loop before its peers."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class UnevenBatchesFault(places.OnRank):
    """how: it "exits" in order, "evaluates", or "waits" at the end of its epoch; the peers hang."""

    id: ClassVar[str] = "software.uneven_batches"
    how: Literal["exits", "evaluates", "waits"] = "exits"

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        announces = preparing.first(scenario).announces or preparing.flip(random)
        return requirements.has_ranks(2)(
            requirements.changed(scenario, announces=announces), random
        )

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        how = "exits" if preparing.flip(random) else "evaluates"
        return {"how": "waits" if strength == "weak" else how}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            slot = self.slot
            state.training.leaves[slot] = True
            state.training.leaves_how = self.how
