"""gpu.firmware_hang: a device's system processor answers nobody; its kernels never end."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class FirmwareHangFault(places.OnDevice):
    """`logged`: the driver writes XID 119, six seconds after the first call without an answer."""

    id: ClassVar[str] = "gpu.firmware_hang"
    needs: ClassVar = (requirements.with_devices,)
    logged: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"logged": not draw.weak}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        slot = self.slot
        state.devices.hung[slot] = True
        state.devices.stalled[slot] = True

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        text = "Timeout after 6s of waiting for RPC response from GPU GSP!"
        return [
            records.xid(self.onset + 6.0 + 6.0 * number, self.host, self.place, 119, text)
            for number in range(3)
        ]
