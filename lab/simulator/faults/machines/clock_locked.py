"""gpu.clock_locked: a clock setting that somebody forgot holds a cool device down."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...devices import under_limit
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class ClockLockedFault(places.OnDevice):
    """`clock` is the setting as a ratio to the highest clock."""

    id: ClassVar[str] = "gpu.clock_locked"
    needs: ClassVar = (requirements.with_devices,)
    until: float = float("inf")
    clock: float = 0.7

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        free = under_limit(draw.scenario.cluster.power_cap)
        found: dict[str, Any] = {"clock": free * draw.between(plain=(0.45, 0.85), weak=(0.9, 0.94))}
        if draw.flip(0.4):
            found["onset"] = draw.job.starts_after + 1.0
        return found

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        slot = self.slot
        state.devices.lock[slot] = min(self.clock, 1.0)
