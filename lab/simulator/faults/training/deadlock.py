"""software.deadlock: ranks wait for each other in two groups, each side in the other's way."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class DeadlockFault(places.OfJob):
    """Half of the ranks wait in their data-parallel group, the rest in the group of the metrics."""

    id: ClassVar[str] = "software.deadlock"
    needs: ClassVar = (requirements.with_replicas,)

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        return draw.changed(second_group=True)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.deadlock = True
