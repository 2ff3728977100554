"""gpu.slow: a device takes longer for the same work, and nothing it reports says why."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places
from . import effects


@dataclass(frozen=True, slots=True)
class SlowGpuFault(places.OnDevice):
    """`drag` is the factor on the device's time."""

    id: ClassVar[str] = "gpu.slow"
    until: float = float("inf")
    drag: float = 1.3

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        drag = effects.slower(random, strength)
        return {"drag": drag, **effects.lasting(random, scenario.seconds)}

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        state.drag[self.slot] = self.drag
