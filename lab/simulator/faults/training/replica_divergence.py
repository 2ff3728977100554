"""numerics.replica_divergence: one data-parallel replica trains on with other weights."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class ReplicaDivergenceFault(places.OnRank):
    """`rate` is the growth per step of its own loss against its peers', as a share."""

    id: ClassVar[str] = "numerics.replica_divergence"
    rate: float = 0.005

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        scope = "both" if preparing.flip(random) else "local"
        scenario = requirements.changed(scenario, tp=1, pp=1, ep=1, stage_load=(), loss_scope=scope)
        scenario = requirements.changed(
            scenario, local_norms=preparing.flip(random), report_from="all"
        )
        return requirements.has_ranks(3)(scenario, random)

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        rate = preparing.drawn(random, strength, plain=(0.004, 0.02), weak=(0.001, 0.002))
        return {"rate": rate}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            drift = np.zeros(len(state.drag))
            drift[self.slot] = self.rate
            state.training.numerics.drift = drift
