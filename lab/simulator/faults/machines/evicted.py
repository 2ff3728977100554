"""host.evicted: the scheduler takes a host away from a running job."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions, ProcessDeath
from ...placement import device_index
from ...shape import SimulatedCluster
from .. import places, records
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class EvictedFault(places.OnHost):
    """Its ranks end by SIGTERM `grace` seconds later. `logged`: the reason is reported."""

    id: ClassVar[str] = "host.evicted"
    slots: int
    grace: float = 2.0
    reason: str = "Evicted"
    logged: bool = True
    killed: bool = False

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {
            "grace": float(draw.random.uniform(0.5, 8.0)),
            "reason": str(
                draw.random.choice(["Evicted", "Preempted", "NodeNotReady", "TaintManagerEviction"])
            ),
            "logged": not draw.weak,
            "killed": draw.flip(0.3),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        for place in range(self.slots):
            slot = device_index(self.host, place, self.slots)
            moment = self.onset + self.grace + 0.1 * place / self.slots
            state.deaths[slot] = ProcessDeath(moment, signal=9 if self.killed else 15)

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        text = _TEXTS.get(self.reason, "the pod was evicted from the node")
        return [records.scheduled(self.onset, self.host, self.reason, text)]


_TEXTS = {
    "Evicted": "The node was low on resource: ephemeral-storage.",
    "Preempted": "Preempted by a pod of higher priority",
    "NodeNotReady": "Node is not ready; the pod is deleted",
    "TaintManagerEviction": "Marking for deletion: the node has a taint NoExecute",
}
