"""balance.pipeline_stage: one pipeline stage has more to do than the others."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...placement import RankSeats
from ...shape import SimulatedCluster
from .. import requirements
from ..draws import FaultDraw
from . import preparing


@dataclass(frozen=True, slots=True)
class PipelineStageFault:
    """Stage `stage` takes `factor` times as long; the others have bubbles."""

    id: ClassVar[str] = "balance.pipeline_stage"
    needs: ClassVar = (requirements.with_stages,)
    onset: float
    stage: int = 0
    factor: float = 1.3

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        factor = draw.between(plain=(1.2, 1.6), weak=(1.07, 1.12))
        stages = draw.job.pp
        # Head and loss make the last stage the usual one.
        stage = stages - 1 if draw.flip(0.6) else int(draw.random.integers(stages))
        return {"factor": factor, "stage": stage, **draw.steady(0.7)}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.stages[self.stage] = self.factor

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return the data-parallel group of the stage, with all ranks of the stage."""
        return preparing.the_stage(seats, self.stage)
