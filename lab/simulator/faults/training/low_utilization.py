"""efficiency.low_utilization: the devices wait for their host most of the time, from the start."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class LowUtilizationFault(places.OfJob):
    """Small kernels: the CPU takes `launch` times as long to launch as the device to run them."""

    id: ClassVar[str] = "efficiency.low_utilization"
    needs: ClassVar = (requirements.has_devices,)
    launch: float = 3.0

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        return draw.changed(spins=False)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        launch = draw.between(plain=(3.0, 6.0), weak=(1.8, 2.4))
        return {"launch": launch, "onset": 0.0}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.launch = self.launch
