"""numerics.nan_data: a bad shard of data reaches several ranks in the same step."""

from dataclasses import dataclass
from typing import ClassVar

from .....vocabulary import entities
from ...conditions import POISONS_LOSS, Conditions
from ...placement import Seats
from ...shape import Cluster


@dataclass(frozen=True, slots=True)
class NanData:
    """Every `each`-th slot of the cluster reads the bad shard; `once`: in a single step."""

    id: ClassVar[str] = "numerics.nan_data"
    onset: float
    each: int = 2
    once: bool = True

    def act(self, state: Conditions, at: float) -> None:
        """Spoil the values of those ranks."""
        if at >= self.onset:
            state.poison[:: self.each] = POISONS_LOSS
            state.poison_once = self.once

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        """Return the job."""
        return entities.job(job, tuple(range(seats.world)))
