"""gpu.foreign_process: a process of nobody's job computes on a device of one."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import effects


@dataclass(frozen=True, slots=True)
class ForeignProcessFault(places.OnDevice):
    """`share` is the part of the device's time it takes, `gibibytes` the memory it holds."""

    id: ClassVar[str] = "gpu.foreign_process"
    needs: ClassVar = (requirements.with_devices,)
    until: float = float("inf")
    share: float = 0.3
    gibibytes: float = 6.0

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        low, high = (0.05, 0.09) if strength == "weak" else (0.15, 0.6)
        return {
            "share": float(random.uniform(low, high)),
            "gibibytes": float(random.uniform(0.8, 12.0)),
            **effects.lasting(random, scenario.seconds),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        slot = self.slot
        state.devices.foreign[slot] = self.share
        state.devices.foreign_bytes[slot] = self.gibibytes * 2.0**30
