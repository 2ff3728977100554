"""software.gc_pause: the garbage collector halts one rank after the other."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class GcPauseFault(places.OfJob):
    """A rank pauses for `seconds` with this `chance` a step: the slow rank changes all the time."""

    id: ClassVar[str] = "software.gc_pause"
    seconds: float = 0.3
    chance: float = 0.1

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        reported = preparing.flip(random, 0.6)
        return requirements.has_ranks(4)(
            requirements.changed(scenario, gc_reported=reported), random
        )

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        share = preparing.drawn(random, strength, plain=(0.2, 0.5), weak=(0.08, 0.12))
        chance = min(float(random.uniform(1.0, 2.0)) / requirements.ranks(scenario), 0.9)
        return {"seconds": share * preparing.first(scenario).step_seconds, "chance": chance}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.pauses = (self.chance, self.seconds)
