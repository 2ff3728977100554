"""numerics.loss_spike: the loss jumps up within a step, and comes back or does not."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class LossSpikeFault(places.OfJob):
    """`height` as a share of the loss; `steps` until two thirds of it are gone (inf: never)."""

    id: ClassVar[str] = "numerics.loss_spike"
    height: float = 0.8
    steps: float = 15.0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        height = draw.between(plain=(0.4, 1.5), weak=(0.12, 0.25))
        steps = float("inf") if draw.flip(0.4) else float(draw.random.uniform(6, 40))
        return {"height": height, "steps": steps}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.spike = self.height
            state.training.numerics.spike_steps = self.steps
