"""host.clock_skew: a host's clock runs away from the others; the job feels nothing."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places
from . import effects


@dataclass(frozen=True, slots=True)
class ClockSkewFault(places.OnHost):
    """The clock jumps by `jump` seconds, or drifts so far in `ramp` seconds.

    `reported`: the time daemon measures it; else nothing disciplines the clock and its offset is
    reported by nobody.
    """

    id: ClassVar[str] = "host.clock_skew"
    jump: float = 5.0
    ramp: float = 0.0
    reported: bool = True

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        low, high = (0.25, 0.8) if strength == "weak" else (1.5, 60.0)
        drifts = random.random() < 0.5
        return {
            "jump": float(random.uniform(low, high)) * float(random.choice([-1, 1, 1])),
            "ramp": float(random.uniform(0.1, 0.4) * scenario.seconds) if drifts else 1.0,
            "reported": bool(random.random() < 0.6),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        share = effects.force(at, self.onset, self.ramp)
        state.nodes.clock[self.host] = self.jump * share
        state.nodes.unsynchronised[self.host] = not self.reported
