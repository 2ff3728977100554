"""numerics.replica_divergence: one data-parallel replica trains on with other weights."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class ReplicaDivergenceFault(places.OnRank):
    """`rate` is the growth per step of its own loss against its peers', as a share."""

    id: ClassVar[str] = "numerics.replica_divergence"
    rate: float = 0.005

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        scope = "both" if draw.flip() else "local"
        scenario = draw.changed(
            tp=1, pp=1, ep=1, stage_load=(), loss_scope=scope,
            local_norms=draw.flip(), report_from="all",
        )  # fmt: skip
        return requirements.has_ranks(3)(scenario, draw.random)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"rate": draw.between(plain=(0.004, 0.02), weak=(0.001, 0.002))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            drift = np.zeros(len(state.drag))
            drift[self.slot] = self.rate
            state.training.numerics.drift = drift
