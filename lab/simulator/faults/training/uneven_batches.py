"""software.uneven_batches: a rank has fewer batches and leaves the loop before its peers."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class UnevenBatchesFault(places.OnRank):
    """how: it "exits" in order, "evaluates", or "waits" at the end of its epoch; the peers hang."""

    id: ClassVar[str] = "software.uneven_batches"
    how: Literal["exits", "evaluates", "waits"] = "exits"

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        announces = draw.job.announces or draw.flip()
        return requirements.has_ranks(2)(draw.changed(announces=announces), draw.random)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        how = "exits" if draw.flip() else "evaluates"
        return {"how": "waits" if draw.weak else how}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            slot = self.slot
            state.training.leaves[slot] = True
            state.training.leaves_how = self.how
