"""numerics.plateau: the loss was falling and stops, though the gradients are there."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class PlateauFault(places.OfJob):
    """The "schedule" sets the learning rate to almost nothing, or updates are "frozen" unseen."""

    id: ClassVar[str] = "numerics.plateau"
    how: Literal["schedule", "frozen"] = "schedule"

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        job = draw.job
        steps = draw.scenario.seconds / job.step_seconds
        return draw.changed(loss_steps=max(0.4 * steps, 5.0), loss_power=1.2)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        frozen = draw.weak or draw.flip()
        return {"how": "frozen" if frozen else "schedule"}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            if self.how == "schedule":
                state.training.numerics.rate = 1e-3
            else:
                state.training.numerics.frozen = True
