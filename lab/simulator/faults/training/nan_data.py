"""numerics.nan_data: a bad shard of data reaches several ranks in the same step."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import POISONS_LOSS, ClusterConditions
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class NanDataFault(places.OfJob):
    """Every `each`-th slot of the cluster reads the bad shard; `once`: in a single step."""

    id: ClassVar[str] = "numerics.nan_data"
    each: int = 2
    once: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        each = int(draw.random.choice([1, 2, 3]))
        return {"each": min(each, max(requirements.ranks(draw.scenario) // 2, 1))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.poison[:: self.each] = POISONS_LOSS
            state.poison_once = self.once
