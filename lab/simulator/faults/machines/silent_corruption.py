"""gpu.silent_corruption: a device computes wrong, finite values, and reports nothing."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements


@dataclass(frozen=True, slots=True)
class SilentCorruptionFault(places.OnDevice):
    """`error` is the relative error of its rank's own loss and gradient."""

    id: ClassVar[str] = "gpu.silent_corruption"
    needs: ClassVar = (requirements.with_devices,)
    until: float = float("inf")
    error: float = 0.2

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        return requirements.changed(scenario, loss_scope="local")

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        low, high = (0.05, 0.1) if strength == "weak" else (0.12, 0.6)
        return {"error": float(random.uniform(low, high)) * float(random.choice([-1, 1]))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        state.corrupted[self.slot] = self.error
