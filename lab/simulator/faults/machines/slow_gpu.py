"""gpu.slow: a device takes longer for the same work, and nothing it reports says why."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class SlowGpuFault(places.OnDevice):
    """`drag` is the factor on the device's time."""

    id: ClassVar[str] = "gpu.slow"
    until: float = float("inf")
    drag: float = 1.3

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        drag = draw.slower()
        return {"drag": drag, **draw.lasting()}

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        state.drag[self.slot] = self.drag
