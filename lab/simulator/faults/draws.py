"""What a fault is drawn from: the scenario it comes into, random numbers, and how strong it is."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..shape import SimulatedJob, SimulationScenario, Strength
from . import requirements


@dataclass(frozen=True, slots=True)
class FaultDraw:
    """One draw; faults act on the first job. A weak fault makes steps 5-10 % longer at most."""

    scenario: SimulationScenario
    random: np.random.Generator
    strength: Strength

    @property
    def job(self) -> SimulatedJob:
        return self.scenario.jobs[0]

    @property
    def weak(self) -> bool:
        return self.strength == "weak"

    def between(self, *, plain: tuple[float, float], weak: tuple[float, float]) -> float:
        """Return a number of the range for this strength."""
        low, high = weak if self.weak else plain
        return float(self.random.uniform(low, high))

    def flip(self, chance: float = 0.5) -> bool:
        """Return True with this chance."""
        return bool(self.random.random() < chance)

    def slower(self, most: float = 2.0) -> float:
        """Return a factor on time: 5-10 % when weak, else from 15 % up."""
        return self.between(plain=(1.15, most), weak=(1.05, 1.1))

    def of_step(self, share: float) -> float:
        """Return the factor on a part of the step that makes all of it 5-10 %, or 15-90 %, longer.

        `share` is that part's share of the step.
        """
        return 1 + (self.slower(1.9) - 1) / max(share, 0.01)

    def lasting(self) -> dict[str, float]:
        """Return for how long a fault lasts: mostly to the end, sometimes it passes."""
        if self.flip(0.7):
            return {}
        return {"lasts": float(self.random.uniform(0.15, 0.3) * self.scenario.seconds)}

    def steady(self, chance: float = 0.5) -> dict[str, Any]:
        """Return an onset of 0 with this chance: what is so from the first step on."""
        return {"onset": 0.0} if self.flip(chance) else {}

    def changed(self, **fields: Any) -> SimulationScenario:
        """Return the scenario with these fields of its first job."""
        return requirements.changed(self.scenario, **fields)

    def with_restart(self, **fields: Any) -> SimulationScenario:
        """Return the scenario with one restart of its first job, about in the middle."""
        at = float(self.random.uniform(0.4, 0.6) * self.scenario.seconds)
        return self.changed(restarts=(at,), **fields)
