"""software.checkpoint_stall: saving takes much longer than it did."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class CheckpointStallFault(places.OfJob):
    """`factor` on the time of a checkpoint."""

    id: ClassVar[str] = "software.checkpoint_stall"
    factor: float = 6.0

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        job = draw.job
        every = max(int(draw.scenario.seconds / draw.random.uniform(8, 14) / job.step_seconds), 2)
        by = "all" if job.checkpoint_by == "async" else job.checkpoint_by
        seconds = max(0.04 * every * job.step_seconds, 2.0)
        return draw.changed(checkpoint_every=every, checkpoint_seconds=seconds, checkpoint_by=by)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"factor": draw.between(plain=(4.0, 10.0), weak=(1.6, 2.2))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.checkpoint = self.factor
