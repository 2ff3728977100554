"""network.congestion: collectives between hosts take longer for everybody; no rank is late."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class NetworkSlowFault(places.OfJob):
    """`factor` is how much longer the collectives take; ports mark packets and wait for credits.

    With `every` it comes and goes: on for half of so many seconds.
    """

    id: ClassVar[str] = "network.congestion"
    needs: ClassVar = (requirements.has_hosts(2),)
    until: float = float("inf")
    factor: float = 3.0
    every: float = 0.0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        waves = draw.flip(0.3)
        return {
            "factor": draw.of_step(draw.job.collective),
            "every": float(draw.random.uniform(40, 120)) if waves else 0.0,
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        if self.every and (at - self.onset) % self.every > 0.5 * self.every:
            return
        state.network = self.factor
        state.ports.marks[:] = 15.0 * self.factor
        state.ports.waits[:] *= 30 * self.factor
