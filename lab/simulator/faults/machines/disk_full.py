"""host.disk_full: a file system of a host fills up; then a rank fails to write, or not yet."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions, ProcessDeath
from ...placement import RankSeats
from ...shape import SimulatedCluster
from .. import places
from ..draws import FaultDraw
from . import effects


@dataclass(frozen=True, slots=True)
class DiskFullFault(places.AtPlace):
    """It takes `ramp` seconds to `most`, a share in use. `kills`: a rank dies when it is full."""

    id: ClassVar[str] = "host.disk_full"
    ramp: float = 90.0
    most: float = 1.0
    kills: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        weak = draw.weak
        return {
            "ramp": float(draw.random.uniform(0.05, 0.2) * draw.scenario.seconds),
            "most": float(draw.random.uniform(0.965, 0.99)) if weak else 1.0,
            "kills": not weak and draw.flip(0.7),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        full = float(state.nodes.full[self.host])
        share = effects.force(at, self.onset, self.ramp)
        state.nodes.full[self.host] = full + (self.most - full) * share
        if self.kills and share >= 1:
            state.deaths[self.slot] = ProcessDeath.raised(
                self.onset + self.ramp,
                "OSError",
                "OSError: [Errno 28] No space left on device: '/scratch/checkpoint.tmp'",
            )

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        return places.host(seats, self.host)
