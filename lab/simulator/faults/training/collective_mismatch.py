"""software.collective_mismatch: a rank launches another collective than its peers at one point."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...conditions import ClusterConditions, ProcessDeath
from ...shape import SimulationScenario, Strength
from .. import places, requirements
from . import preparing

_TEXT = (
    "RuntimeError: Detected mismatch between collectives on ranks. This rank is running "
    "collective: CollectiveFingerPrint(SequenceNumber=1204, OpType=BROADCAST), but "
    "others are running OpType=ALLREDUCE."
)


@dataclass(frozen=True, slots=True)
class CollectiveMismatchFault(places.OnRank):
    """The group stops at one number.

    how: the "kind" of operation differs (the library's own counts show it), or in "detail" mode the
    process itself finds out and ends with an error.
    """

    id: ClassVar[str] = "software.collective_mismatch"
    needs: ClassVar = (requirements.with_replicas,)
    how: Literal["kind", "detail"] = "kind"

    @classmethod
    def prepared(
        cls, scenario: SimulationScenario, random: np.random.Generator
    ) -> SimulationScenario:
        if preparing.first(scenario).buckets < 2:
            scenario = requirements.changed(scenario, buckets=4)
        reporting = dataclasses.replace(scenario.reporting, launch_counts=True)
        return dataclasses.replace(scenario, reporting=reporting)

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        detail = strength == "plain" and preparing.flip(random, 0.4)
        return {"how": "detail" if detail else "kind"}

    def act(self, state: ClusterConditions, at: float) -> None:
        slot = self.slot
        if at < self.onset:
            return
        if self.how == "detail":
            state.deaths[slot] = ProcessDeath.raised(self.onset, "RuntimeError", _TEXT)
        else:
            state.training.mismatch[slot] = True
