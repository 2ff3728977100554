"""balance.rank0_gather: rank 0 gathers, logs or writes for all outside of its training step."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...memory import GIB
from ...placement import RankSeats, host_name
from ...shape import SimulatedCluster
from .. import requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class Rank0GatherFault:
    """`seconds` of extra work a step, and `held` bytes gathered on its device."""

    id: ClassVar[str] = "balance.rank0_gather"
    needs: ClassVar = (requirements.has_ranks(2),)
    onset: float
    seconds: float = 0.3
    held: float = 4 * GIB

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        share = draw.between(plain=(0.15, 0.6), weak=(0.06, 0.1))
        seconds = share * draw.job.step_seconds
        return {
            "seconds": seconds,
            "held": float(draw.random.choice([0.0, 2.0, 6.0])) * GIB,
            **draw.steady(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.first_other = self.seconds
            state.training.first_held = self.held

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return rank 0."""
        return entities.rank(0, host_name(int(seats.host[0])))
