"""numerics.gradient_explosion: the norm of the gradients grows exponentially."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class GradientExplosionFault(places.OfJob):
    """`rate` is the growth per step; clipping holds the loss for a while."""

    id: ClassVar[str] = "numerics.gradient_explosion"
    rate: float = 0.1

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"rate": draw.between(plain=(0.08, 0.4), weak=(0.03, 0.06))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.explosion = self.rate
