"""gpu.silent_corruption: a device computes wrong, finite values, and reports nothing."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class SilentCorruptionFault(places.OnDevice):
    """`error` is the relative error of its rank's own loss and gradient."""

    id: ClassVar[str] = "gpu.silent_corruption"
    needs: ClassVar = (requirements.with_devices,)
    until: float = float("inf")
    error: float = 0.2

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        return draw.changed(loss_scope="local")

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {
            "error": draw.between(plain=(0.12, 0.6), weak=(0.05, 0.1))
            * float(draw.random.choice([-1, 1]))
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        state.corrupted[self.slot] = self.error
