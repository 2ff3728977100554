"""software.init_failed: the job starts and never reaches its first step."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class InitFailedFault(places.OfJob):
    """how: it "waits" for members that never come, until `timeout`, or "fails" while it sets up."""

    id: ClassVar[str] = "software.init_failed"
    how: Literal["waits", "fails"] = "waits"
    timeout: float = 120.0

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        start = float(random.uniform(0.1, 0.3)) * scenario.seconds
        again = preparing.flip(random)
        return requirements.changed(
            scenario, starts_after=start, restarts=(), restarts_after_crash=again, ends_after=0.0
        )

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        fails = strength == "plain" and preparing.flip(random)
        timeout = float(random.uniform(60, 120)) if strength == "plain" else 1800.0
        start = preparing.first(scenario).starts_after
        return {"how": "fails" if fails else "waits", "timeout": timeout, "onset": start}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.init = self.how
            state.training.init_timeout = self.timeout
