"""gpu.memory_uncorrectable: a memory error that ECC cannot correct."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions, ProcessDeath
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class MemoryUncorrectableFault(places.OnDevice):
    """`kills`: the process had its data there. `contained`: XID 94, else 48 and 95.

    The row waits to be replaced (`pending`). `logged`: the driver writes of it; the counter counts
    in any case.
    """

    id: ClassVar[str] = "gpu.memory_uncorrectable"
    needs: ClassVar = (requirements.with_devices,)
    kills: bool = True
    contained: bool = True
    logged: bool = True
    count: int = 1

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        weak = draw.weak
        return {
            "kills": not weak and draw.flip(0.85),
            "contained": draw.flip(0.6),
            "logged": not weak,
            "count": int(draw.random.integers(1, 4)),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        slot = self.slot
        state.devices.uncorrected[slot] += self.count
        state.devices.pending[slot] = at >= self.onset + 2.0
        state.devices.remapped[slot] += 1.0 if at >= self.onset + 2.0 else 0.0
        if self.kills:
            text = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
            state.deaths[slot] = ProcessDeath.raised(self.onset + 0.4, "RuntimeError", text)

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        codes = {94: "Contained memory error"} if self.contained else _UNCONTAINED
        found = [
            records.xid(self.onset + 0.1 * number, self.host, self.place, code, text)
            for number, (code, text) in enumerate(codes.items())
        ]
        text = "Row remapping event: remap pending"
        return [*found, records.xid(self.onset + 2.0, self.host, self.place, 63, text)]


_UNCONTAINED = {48: "Double Bit ECC Error", 95: "Uncontained memory error"}
