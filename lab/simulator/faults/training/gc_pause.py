"""software.gc_pause: the garbage collector halts one rank after the other."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class GcPauseFault(places.OfJob):
    """A rank pauses for `seconds` with this `chance` a step: the slow rank changes all the time."""

    id: ClassVar[str] = "software.gc_pause"
    seconds: float = 0.3
    chance: float = 0.1

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        reported = draw.flip(0.6)
        return requirements.has_ranks(4)(draw.changed(gc_reported=reported), draw.random)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        share = draw.between(plain=(0.2, 0.5), weak=(0.08, 0.12))
        chance = min(float(draw.random.uniform(1.0, 2.0)) / requirements.ranks(draw.scenario), 0.9)
        return {"seconds": share * draw.job.step_seconds, "chance": chance}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.pauses = (self.chance, self.seconds)
