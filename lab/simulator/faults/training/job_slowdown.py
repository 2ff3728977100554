"""unknown: every rank is slower, and nothing says why."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class JobSlowdownFault(places.OfJob):
    """`factor` on everybody's time; no change, no sign of hardware."""

    id: ClassVar[str] = "unknown"
    factor: float = 1.2
    until: float = float("inf")

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        return draw.changed(restarts=())

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"factor": draw.between(plain=(1.12, 1.5), weak=(1.05, 1.1))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if self.onset <= at < self.until:
            state.drag *= self.factor
