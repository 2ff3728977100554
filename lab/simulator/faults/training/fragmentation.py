"""memory.fragmentation: the allocator holds memory in pieces that fit no request."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class FragmentationFault(places.OnRank):
    """`rate` is the share of the device's memory per minute that becomes useless.

    Reserved memory leaves the allocated behind; at the end the allocator gives back and retries.
    """

    id: ClassVar[str] = "memory.fragmentation"
    needs: ClassVar = (requirements.has_devices,)
    rate: float = 0.05

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"rate": draw.between(plain=(0.04, 0.12), weak=(0.015, 0.03))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            slot = self.slot
            state.training.unusable[slot] = self.rate / 60 * (at - self.onset)
