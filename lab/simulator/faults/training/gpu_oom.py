"""memory.gpu_oom: a rank needs more device memory for a step than its device has."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class GpuOomFault(places.OnRank):
    """`ramp` seconds until its activations are six times as large, by longer sequences.

    How soon it ends follows from what the device has left.
    """

    id: ClassVar[str] = "memory.gpu_oom"
    needs: ClassVar = (requirements.has_devices,)
    ramp: float = 0.0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"ramp": draw.between(plain=(0.0, 20.0), weak=(60.0, 180.0))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            force = min(1.0, (at - self.onset) / self.ramp) if self.ramp else 1.0
            slot = self.slot
            state.training.activations[slot] = 1 + 5 * force
