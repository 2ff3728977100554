"""gpu.lost: a device falls off the bus; what runs on it dies or stands still."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions, ProcessDeath
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class GpuLostFault(places.OnDevice):
    """The driver sees it gone at `onset`; the process fails `after` seconds, or hangs when None.

    `logged`: the driver writes XID 79.
    """

    id: ClassVar[str] = "gpu.lost"
    needs: ClassVar = (requirements.with_devices,)
    after: float | None = 1.0
    logged: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        dies = draw.flip(0.7)
        return {
            "after": float(draw.random.uniform(0.3, 5.0)) if dies else None,
            "logged": not draw.weak,
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        slot = self.slot
        state.devices.lost[slot] = True
        state.devices.stalled[slot] = True
        if self.after is not None:
            text = "RuntimeError: CUDA error: unspecified launch failure"
            state.deaths[slot] = ProcessDeath.raised(self.onset + self.after, "RuntimeError", text)

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        text = "GPU has fallen off the bus."
        return [records.xid(self.onset + 0.2, self.host, self.place, 79, text)]
