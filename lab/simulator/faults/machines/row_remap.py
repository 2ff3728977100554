"""gpu.row_remap: a memory row waits to be replaced, or could not be; the job goes on."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class RowRemapFault(places.OnDevice):
    """`failed`: no spare row was left. `logged`: the driver writes XID 63 or 64."""

    id: ClassVar[str] = "gpu.row_remap"
    needs: ClassVar = (requirements.with_devices,)
    failed: bool = False
    logged: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        failed = not draw.weak and draw.flip(0.5)
        return {"failed": bool(failed), "logged": not draw.weak}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        slot = self.slot
        state.devices.pending[slot] = not self.failed
        state.devices.failed[slot] = self.failed
        state.devices.remapped[slot] += 0 if self.failed else 1

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        code, text = (64, "Row remapping failure") if self.failed else (63, "Row remapping pending")
        return [records.xid(self.onset + 0.1, self.host, self.place, code, text)]
