"""numerics.bad_resume: the job comes back from a restart worse than it went."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class BadResumeFault(places.OfJob):
    """`lost` is the share of the training forgotten; `wrong_data` a lasting rise of the loss."""

    id: ClassVar[str] = "numerics.bad_resume"
    resumes: ClassVar[bool] = True
    lost: float = 0.0
    wrong_data: float = 0.0

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        return draw.with_restart(restarts_after_crash=False)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        found: dict[str, Any] = {"onset": draw.job.restarts[-1]}
        if not draw.weak and draw.flip():
            return found | {"lost": float(draw.random.uniform(0.85, 0.98))}
        wrong = draw.between(plain=(0.15, 0.5), weak=(0.06, 0.1))
        return found | {"wrong_data": wrong}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.lost = self.lost
            state.training.numerics.wrong_data = self.wrong_data
