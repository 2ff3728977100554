"""numerics.bad_resume: the job comes back from a restart worse than it went."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places
from . import preparing


@dataclass(frozen=True, slots=True)
class BadResumeFault(places.OfJob):
    """`lost` is the share of the training forgotten; `wrong_data` a lasting rise of the loss."""

    id: ClassVar[str] = "numerics.bad_resume"
    resumes: ClassVar[bool] = True
    lost: float = 0.0
    wrong_data: float = 0.0

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        return preparing.with_restart(scenario, random, restarts_after_crash=False)

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        found: dict[str, Any] = {"onset": preparing.first(scenario).restarts[-1]}
        if strength == "plain" and preparing.flip(random):
            return found | {"lost": float(random.uniform(0.85, 0.98))}
        wrong = preparing.drawn(random, strength, plain=(0.15, 0.5), weak=(0.06, 0.1))
        return found | {"wrong_data": wrong}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.numerics.lost = self.lost
            state.training.numerics.wrong_data = self.wrong_data
