"""software.recompile: new shapes make the compiler work again and again."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats
from ...progress import Attempt
from ...shape import Cluster, Scenario, Strength
from . import preparing


@dataclass(frozen=True, slots=True)
class Recompile:
    """A step takes `seconds` more with this `chance`; `logged`: the compiler warns."""

    id: ClassVar[str] = "software.recompile"
    onset: float
    chance: float = 0.2
    seconds: float = 2.0
    logged: bool = False

    @classmethod
    def drawn(
        cls, scenario: Scenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        """Return how often, and how long."""
        steps = preparing.drawn(random, strength, plain=(1.0, 3.0), weak=(0.5, 0.8))
        chance = preparing.drawn(random, strength, plain=(0.12, 0.3), weak=(0.06, 0.12))
        seconds = steps * preparing.first(scenario).step_seconds
        return {"seconds": seconds, "chance": chance, "logged": preparing.flip(random, 0.6)}

    def act(self, state: Conditions, at: float) -> None:
        """Compile again."""
        if at >= self.onset:
            state.training.recompiles = (self.chance, self.seconds)

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        """Return the job."""
        return preparing.the_job(job, seats)

    def said(self, attempt: Attempt) -> list[tuple[float, str, dict[str, Any]]]:
        """Return the compiler's warning when it gives up on specialising."""
        if not self.logged:
            return []
        text = "torch._dynamo hit config.recompile_limit (8); to log all recompilation reasons ..."
        pairs = {"signature": "torch.recompile_limit", "role": "root", "rank": 0, "text": text}
        return [(self.onset + 8 * self.seconds / self.chance, "log.fault", pairs)]
