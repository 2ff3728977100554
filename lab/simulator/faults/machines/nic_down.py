"""network.nic_down: a network port loses its link."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions, ProcessDeath
from ...fabric import device_name, port_of
from ...placement import device_index
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw
from . import effects


@dataclass(frozen=True, slots=True)
class NicDownFault(places.OnPort):
    """Without `failover` transfers hang, and after `gives_up` seconds the library ends its ranks.

    With it the neighbouring port carries both streams: `left` is the bandwidth of each.
    """

    id: ClassVar[str] = "network.nic_down"
    needs: ClassVar = (requirements.has_hosts(2),)
    until: float = float("inf")
    failover: bool = False
    left: float = 0.5
    gives_up: float = 25.0
    logged: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        weak = draw.weak
        found: dict[str, Any] = {"logged": not weak}
        if draw.scenario.cluster.nics > 1 and (weak or draw.flip(0.5)):
            factor = draw.of_step(draw.job.collective)
            return {**found, "failover": True, "left": 1 / factor}
        return {**found, "gives_up": float(draw.random.uniform(8, 60))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        ports, port = state.ports, effects.port(state, self.place, self.slots)
        ports.downs[self.host, port] += 1
        if at >= self.until:
            return
        ports.up[self.host, port] = False
        ports.marks[self.host, port] = ports.waits[self.host, port] = 0.0
        if self.failover:
            beside = (port + 1) % ports.up.shape[1]
            ports.bandwidth[self.host, [port, beside]] = self.left
            return
        ports.severed[self.host, port] = True
        if self.until < float("inf"):
            state.released = self.until
            return
        for place in range(self.slots):
            if effects.port(state, place, self.slots) == port:
                state.deaths[device_index(self.host, place, self.slots)] = _death(
                    self.onset + self.gives_up, port
                )

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        text = f"mlx5_core 0000:9a:00.0 {device_name(port_of(cluster, self.place))}: Link down"
        return [records.kernel(self.onset + 0.1, self.host, "nic.link_down", "confirmation", text)]


def _death(at: float, port: int) -> ProcessDeath:
    text = (
        "DistBackendError: NCCL error: unhandled system error. Last error: NET/IB: Got completion "
        f"with status=IBV_WC_RETRY_EXC_ERR(12) vendor_err=129 hca {device_name(port)}"
    )
    return ProcessDeath.raised(at, "DistBackendError", text)
