"""software.checkpoint_stall: saving takes much longer than it did."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class CheckpointStallFault(places.OfJob):
    """`factor` on the time of a checkpoint."""

    id: ClassVar[str] = "software.checkpoint_stall"
    factor: float = 6.0

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        job = preparing.first(scenario)
        every = max(int(scenario.seconds / random.uniform(8, 14) / job.step_seconds), 2)
        by = "all" if job.checkpoint_by == "async" else job.checkpoint_by
        seconds = max(0.04 * every * job.step_seconds, 2.0)
        return requirements.changed(
            scenario, checkpoint_every=every, checkpoint_seconds=seconds, checkpoint_by=by
        )

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        factor = preparing.drawn(random, strength, plain=(4.0, 10.0), weak=(1.6, 2.2))
        return {"factor": factor}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.checkpoint = self.factor
