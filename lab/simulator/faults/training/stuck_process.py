"""software.stuck_process: one rank's main thread stops before a collective; its peers wait."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...shape import SimulationScenario, Strength
from .. import places
from . import preparing


@dataclass(frozen=True, slots=True)
class StuckProcessFault(places.OnRank):
    """`point` is where in its own work of the step it stops (1 = end of backward).

    `busy` reports whether it burns its CPU (an endless loop) or sleeps (a lock). With `until` it
    goes on at that time, with `seconds` after so long.
    """

    id: ClassVar[str] = "software.stuck_process"
    until: float = float("inf")
    point: float = 0.6
    busy: bool = False
    seconds: float = float("inf")

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        seconds = float("inf")
        if strength == "weak":
            seconds = max(30.0, 12 * preparing.first(scenario).step_seconds)
        return {
            "point": float(random.uniform(0.1, 0.95)),
            "busy": preparing.flip(random, 0.3),
            "seconds": seconds,
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        until = min(self.until, self.onset + self.seconds)
        if not self.onset <= at < until:
            return
        slot = self.slot
        state.stopped[slot] = self.point
        state.busy_stop[slot] = self.busy
        state.released = until
