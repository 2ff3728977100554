"""memory.rank0_contexts: other ranks' processes hold memory on the first device of a host."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...memory import GIB
from ...placement import RankSeats, device_id, host_name
from ...shape import SimulatedCluster
from .. import requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class Rank0ContextsFault:
    """`held` bytes each, of all local ranks or only the first `ranks` of them.

    A process that sets no device, or loads a checkpoint to where it was saved, does this.
    """

    id: ClassVar[str] = "memory.rank0_contexts"
    needs: ClassVar = (requirements.has_two_a_host, requirements.has_devices)
    onset: float
    host: int
    slots: int
    held: float = 0.6 * GIB
    ranks: int = 0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        held = draw.between(plain=(0.45, 1.5), weak=(0.3, 0.5)) * GIB
        return {"held": held, "ranks": 1 if draw.weak else 0}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        begin = self.host * self.slots
        last = begin + (1 + self.ranks if self.ranks else self.slots)
        state.training.contexts[begin + 1 : min(last, begin + self.slots)] = self.held

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return the device that they hold memory on."""
        rank = int(np.flatnonzero((seats.host == self.host) & (seats.local == 0))[0])
        place = int(seats.place[rank])
        return entities.gpu(device_id(self.host, place), host_name(self.host), (rank,))
