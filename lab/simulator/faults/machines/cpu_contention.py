"""host.cpu_contention: other work, a quota or the hypervisor takes the CPU time of one host."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...conditions import ClusterConditions
from ...placement import device_index
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class CpuContentionFault(places.OnHost):
    """`severity` is the share of the CPU time the ranks ask for that they do not get.

    by: "neighbours" (busy processes: the host's CPUs fill up, runnable ranks wait), "quota" (the
    ranks' own cgroup limit: they wait, the host looks idle) or "steal" (the hypervisor: only its
    own counter reports). `places` limits a quota to some slots. `ramp` seconds to full force.
    """

    id: ClassVar[str] = "host.cpu_contention"
    slots: int
    until: float = float("inf")
    severity: float = 0.6
    by: Literal["neighbours", "quota", "steal"] = "neighbours"
    places: tuple[int, ...] = ()
    ramp: float = 1.0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        needed = draw.job.cpu_bound if draw.scenario.cluster.gpus else 1.0
        share = min(needed, 1.0) / draw.slower(2.5)
        return {
            "severity": 1 - share,
            "by": str(draw.random.choice(["neighbours", "neighbours", "quota", "steal"])),
            "ramp": float(draw.random.uniform(1, 20)),
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        force = min(1.0, (at - self.onset) / self.ramp) if self.ramp else 1.0
        taken = self.severity * force
        if self.by == "neighbours":
            state.cpu_share[self.host] *= 1 - taken
            state.neighbours[self.host] = 0.98 * force
        elif self.by == "steal":
            state.steal[self.host] = taken
        else:
            for place in self.places or range(self.slots):
                slot = device_index(self.host, place, self.slots)
                state.quota_share[slot] *= 1 - taken
