"""gpu.foreign_process: a process of nobody's job computes on a device of one."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class ForeignProcessFault(places.OnDevice):
    """`share` is the part of the device's time it takes, `gibibytes` the memory it holds."""

    id: ClassVar[str] = "gpu.foreign_process"
    needs: ClassVar = (requirements.with_devices,)
    until: float = float("inf")
    share: float = 0.3
    gibibytes: float = 6.0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {
            "share": draw.between(plain=(0.15, 0.6), weak=(0.05, 0.09)),
            "gibibytes": float(draw.random.uniform(0.8, 12.0)),
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        slot = self.slot
        state.devices.foreign[slot] = self.share
        state.devices.foreign_bytes[slot] = self.gibibytes * 2.0**30
