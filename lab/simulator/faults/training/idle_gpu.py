"""efficiency.idle_gpu: the job keeps its devices and does nothing with them."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class IdleGpuFault(places.OfJob):
    """A notebook left open, a trainer that waits for an answer: no collective is open."""

    id: ClassVar[str] = "efficiency.idle_gpu"
    needs: ClassVar = (requirements.has_devices,)
    until: float = float("inf")

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {}

    def act(self, state: ClusterConditions, at: float) -> None:
        if self.onset <= at < self.until:
            state.training.idle = True
