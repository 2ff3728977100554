"""memory.host_oom: the trainers of a host grow until the kernel kills one of them."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...memory import HOST_MEMORY
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class HostOomGrowthFault(places.OnHost):
    """Memory is full about `seconds` after the onset; `reports`: the kernel's message is read.

    Other than host_oom, whose onset is the kill: here the onset is that of the growth.
    """

    id: ClassVar[str] = "memory.host_oom"
    slots: int
    seconds: float = 90.0
    reports: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        seconds = draw.between(plain=(20.0, 60.0), weak=(60.0, 120.0))
        return {"seconds": seconds, "reports": not draw.weak}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        held = 0.66 * HOST_MEMORY * (at - self.onset) / self.seconds
        begin = self.host * self.slots
        state.training.trainer_held[begin : begin + self.slots] = held / self.slots
        state.training.kernel_reports = self.reports
