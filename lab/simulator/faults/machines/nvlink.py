"""gpu.nvlink: a link between devices of a host fails, or sends everything twice."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class NvLinkFault(places.OnDevice):
    """`down` links are gone, the others carry their traffic; `errors` a second on one link.

    `width` is the bandwidth that is left to the device, as a ratio. `logged`: XID 74.
    """

    id: ClassVar[str] = "gpu.nvlink"
    needs: ClassVar = (requirements.has_two_a_host, requirements.with_devices)
    until: float = float("inf")
    down: int = 1
    errors: float = 2.0
    width: float = 0.5
    logged: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        factor = draw.of_step(draw.job.collective)
        weak = draw.weak
        return {
            "down": 0 if weak else int(draw.random.integers(0, 4)),
            "errors": float(draw.random.uniform(0.5, 3) if weak else draw.random.uniform(2, 200)),
            "width": 1 / factor,
            "logged": not weak and draw.flip(0.7),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        slot = self.slot
        state.devices.links_down[slot] = self.down
        state.devices.link_errors[slot] = self.errors
        state.devices.link_width[slot] = self.width

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        text = "NVLink: fatal error detected on link 0"
        return [records.xid(self.onset + 0.3, self.host, self.place, 74, text)]
