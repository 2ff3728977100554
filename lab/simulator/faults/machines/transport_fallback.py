"""network.transport_fallback: a host's ranks fall back from RDMA to sockets at their start."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import effects


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
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        if random.random() < 0.5 or scenario.jobs[0].restarts:
            return scenario
        moment = float(random.uniform(0.3, 0.45) * scenario.seconds)
        jobs = (replace(scenario.jobs[0], restarts=(moment,)), *scenario.jobs[1:])
        return replace(scenario, jobs=jobs)

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        job = scenario.jobs[0]
        return {
            "factor": effects.of_step(job.collective, random, strength),
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
