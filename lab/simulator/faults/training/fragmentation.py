"""memory.fragmentation: the allocator holds memory in pieces that fit no request."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class FragmentationFault(places.OnRank):
    """`rate` is the share of the device's memory per minute that becomes useless.

    Reserved memory leaves the allocated behind; at the end the allocator gives back and retries.
    """

    id: ClassVar[str] = "memory.fragmentation"
    needs: ClassVar = (requirements.has_devices,)
    rate: float = 0.05

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        rate = preparing.drawn(random, strength, plain=(0.04, 0.12), weak=(0.015, 0.03))
        return {"rate": rate}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            slot = self.slot
            state.training.unusable[slot] = self.rate / 60 * (at - self.onset)
