"""numerics.nan_precision: half precision overflows at every loss scale, down to none."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class NanPrecisionFault(places.OfJob):
    """The scale halves at each step; when nothing is left to halve the values become NaN."""

    id: ClassVar[str] = "numerics.nan_precision"

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        scale = float(draw.random.choice([2.0**12, 2.0**16, 2.0**20]))
        return draw.changed(loss_scale=scale, loss_scale_fits=scale, guards_numerics=True)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.overflows = True
