"""balance.sequence_length: the tokens of a batch are spread unevenly over the ranks."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class SequenceLengthFault(places.OfJob):
    """`spread` of the tokens per rank and step: whoever has the most is last, another each step."""

    id: ClassVar[str] = "balance.sequence_length"
    needs: ClassVar = (requirements.has_ranks(4),)
    spread: float = 0.5

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        return draw.changed(variable_length=0.0, attention=0.3)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        spread = draw.between(plain=(0.3, 0.5), weak=(0.15, 0.22))
        return {"spread": spread, **draw.steady()}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.lengths = self.spread
