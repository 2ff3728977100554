"""host.lost: a host falls silent, its ranks with it; the peers wait for it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulatedCluster
from .. import places, records
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class HostLostFault(places.OnHost):
    """From outside it is the same silence for all causes. `logged`: a machine check before."""

    id: ClassVar[str] = "host.lost"
    logged: bool = False

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"logged": not draw.weak and draw.flip(0.3)}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.silent[self.host] = True
            state.lost_at = self.onset

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        text = "mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 9: be00000000800400"
        return [records.kernel(self.onset - 1.5, self.host, "host.machine_check", "root", text)]
