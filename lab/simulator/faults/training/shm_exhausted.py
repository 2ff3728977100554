"""memory.shm_exhausted: /dev/shm of a host fills up until a data loader dies of it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...memory import SHM_LIMIT
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class ShmExhaustedFault(places.OnHost):
    """It is full about `seconds` after the onset; the next batch then is a bus error."""

    id: ClassVar[str] = "memory.shm_exhausted"
    needs: ClassVar = (requirements.with_workers,)
    seconds: float = 90.0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"seconds": draw.between(plain=(20.0, 60.0), weak=(60.0, 150.0))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            share = min((at - self.onset) / self.seconds, 1.0)  # a tmpfs holds no more
            state.training.shm_held[self.host] = SHM_LIMIT * share
