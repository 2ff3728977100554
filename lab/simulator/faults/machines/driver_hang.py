"""host.driver_hang: calls into the device driver do not return on one host."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...placement import device_index
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class DriverHangFault(places.OnHost):
    """`stops`: the ranks there stand still in the kernel; else they get `share` of their CPU time.

    `logged`: the kernel writes of tasks that wait for two minutes.
    """

    id: ClassVar[str] = "host.driver_hang"
    needs: ClassVar = (requirements.with_devices,)
    slots: int
    until: float = float("inf")
    stops: bool = True
    share: float = 0.9
    logged: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        if not draw.weak:
            return {"stops": True, "logged": draw.flip(0.7)}
        needed = draw.job.cpu_bound
        return {
            "stops": False,
            "share": needed / float(draw.random.uniform(1.05, 1.1)),
            "logged": False,
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        state.nodes.driver[self.host] = True
        state.nodes.blocked[self.host] = 2.0
        if not self.stops:
            state.cpu_share[self.host] *= min(self.share, 1.0)
            return
        for place in range(self.slots):
            state.stopped[device_index(self.host, place, self.slots)] = 0.5
        state.released = self.until

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not (self.logged and self.stops):
            return []
        text = "INFO: task python3:2001 blocked for more than 122 seconds."
        return [records.kernel(self.onset + 122.0, self.host, "task.hung", "cascade", text)]
