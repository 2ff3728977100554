"""balance.rank0_preprocessing: rank 0 prepares the batches of all ranks and hands them out."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...placement import RankSeats, host_name
from ...shape import SimulatedCluster
from .. import requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class Rank0PreprocessingFault:
    """`seconds` of preparation a step; the others wait for it in a broadcast."""

    id: ClassVar[str] = "balance.rank0_preprocessing"
    needs: ClassVar = (requirements.has_ranks(2),)
    onset: float
    seconds: float = 0.3

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        share = draw.between(plain=(0.15, 0.6), weak=(0.06, 0.1))
        seconds = share * draw.job.step_seconds
        return {"seconds": seconds, **draw.steady()}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.first_data = self.seconds
            state.training.broadcasts = True

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return rank 0."""
        return entities.rank(0, host_name(int(seats.host[0])))
