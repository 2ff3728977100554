"""numerics.divergence: the loss rises steadily and does not come back."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class DivergenceFault(places.OfJob):
    """`rate` is the growth per step, as a share of the loss."""

    id: ClassVar[str] = "numerics.divergence"
    rate: float = 0.02

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"rate": draw.between(plain=(0.01, 0.04), weak=(0.003, 0.006))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.divergence = self.rate
