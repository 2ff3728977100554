"""network.transport_fallback: a host's ranks fall back from RDMA to sockets at their start."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class TransportFallbackFault(places.OnHost):
    """`factor` is how much longer transfers take that cross this host's border.

    From the start of an attempt on: the transport is chosen once.
    """

    id: ClassVar[str] = "network.transport_fallback"
    needs: ClassVar = (requirements.has_hosts(2),)
    until: float = float("inf")
    factor: float = 4.0

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        if draw.flip(0.5) or draw.job.restarts:
            return draw.scenario
        moment = float(draw.random.uniform(0.3, 0.45) * draw.scenario.seconds)
        jobs = (replace(draw.job, restarts=(moment,)), *draw.scenario.jobs[1:])
        return replace(draw.scenario, jobs=jobs)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        job = draw.job
        return {
            "factor": draw.of_step(job.collective),
            "onset": job.restarts[-1] if job.restarts else job.starts_after + 1.0,
        }

    @property
    def seen_from(self) -> float:
        """Return from when on the ranks are where it strikes: the last attempt."""
        return float("inf")

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        state.ports.transport[self.host] = self.factor
        state.ports.sockets[self.host] = True
