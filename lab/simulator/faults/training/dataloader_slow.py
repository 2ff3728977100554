"""software.dataloader_slow: batches come late on a rank, a host or the whole job."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...placement import RankSeats, host_name, ranks_of_host
from ...shape import SimulatedCluster
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class DataloaderSlowFault(places.AtPlace):
    """`seconds` of extra wait a step, where `scope` says; the workers are busy all the time."""

    id: ClassVar[str] = "software.dataloader_slow"
    needs: ClassVar = (requirements.with_workers,)
    scope: Literal["rank", "host", "job"] = "rank"
    seconds: float = 0.5
    until: float = float("inf")

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        share = draw.between(plain=(0.25, 1.2), weak=(0.06, 0.1))
        scope = str(draw.random.choice(["rank", "host", "job"]))
        return {"seconds": share * draw.job.step_seconds, "scope": scope}

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        extra = state.training.data_extra
        if self.scope == "job":
            extra[:] = self.seconds
        elif self.scope == "host":
            extra[self.host * self.slots : (self.host + 1) * self.slots] = self.seconds
        else:
            extra[self.slot] = self.seconds

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        if self.scope == "job":
            return places.whole_job(job, seats)
        if self.scope == "host":
            return entities.host(host_name(self.host), ranks_of_host(seats, self.host))
        return places.rank(seats, self.host, self.place)
