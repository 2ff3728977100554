"""What all sensors of a recording share: the machines, how they report, and when they read."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .conditions import ClusterConditions
from .placement import switch_name
from .shape import ReportingHabits, SimulatedCluster

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ConditionHistory:
    """The conditions at ascending moments `at` (s)."""

    at: Array
    states: list[ClusterConditions]

    def of(self, part: str, name: str) -> NDArray[np.generic]:
        """Return a field of a part of the conditions at every moment: [moment, ...]."""
        return np.array([getattr(getattr(state, part), name) for state in self.states])

    def one(self, name: str) -> NDArray[np.generic]:
        """Return a field of the conditions themselves at every moment: [moment, ...]."""
        return np.array([getattr(state, name) for state in self.states])


@dataclass(frozen=True, slots=True)
class SimulatedSite:
    """The machines as sensors see them.

    `phases` ([host], s) are the moments in a period at which each host reads, `offsets` ([host],
    s) how far its clock is ahead; `conditions` answers what is so at a moment of the recording.
    """

    cluster: SimulatedCluster
    reporting: ReportingHabits
    seconds: float
    phases: Array
    offsets: Array
    conditions: Callable[[float], ClusterConditions]
    seed: int
    _known: dict[tuple[int, float], ConditionHistory] = field(
        default_factory=dict[tuple[int, float], ConditionHistory]
    )

    def history(self, host: int, every: float) -> ConditionHistory:
        """Return the conditions at a host's readings every so many seconds, while it is up."""
        found = self._known.get((host, every))
        if found is None:
            phase = float(self.phases[host])
            first = np.ceil((self.up_since(host) - phase) / every) * every + phase
            at = np.arange(first, self.seconds, every)
            states = [self.conditions(float(moment)) for moment in at]
            up = [not state.silent[host] for state in states]
            states = [state for state in states if not state.silent[host]]
            found = self._known[host, every] = ConditionHistory(at[up], states)
        return found

    def up_since(self, host: int) -> float:
        """Return when a host came up, 0 where it was up before the recording."""
        return max((at for which, at in self.cluster.booted if which == host), default=0.0)

    def switch(self, host: int) -> str:
        """Return the leaf switch of a host as its telemetry names it: "" where it has several."""
        return "" if self.cluster.rails else switch_name(self.cluster, host)
