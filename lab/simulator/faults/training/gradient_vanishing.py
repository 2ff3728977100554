"""numerics.gradient_vanishing: the norm of the gradients falls towards nothing."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class GradientVanishingFault(places.OfJob):
    """`rate` is the decay per step (in natural logarithm); the loss stops falling."""

    id: ClassVar[str] = "numerics.gradient_vanishing"
    rate: float = 0.2

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"rate": draw.between(plain=(0.15, 1.5), weak=(0.06, 0.1))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.vanishing = self.rate
