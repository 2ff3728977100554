"""software.collective_mismatch: a rank launches another collective than its peers at one point."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...conditions import ClusterConditions, ProcessDeath
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw

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
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        scenario = draw.scenario if draw.job.buckets >= 2 else draw.changed(buckets=4)
        reporting = dataclasses.replace(scenario.reporting, launch_counts=True)
        return dataclasses.replace(scenario, reporting=reporting)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        detail = not draw.weak and draw.flip(0.4)
        return {"how": "detail" if detail else "kind"}

    def act(self, state: ClusterConditions, at: float) -> None:
        slot = self.slot
        if at < self.onset:
            return
        if self.how == "detail":
            state.deaths[slot] = ProcessDeath.raised(self.onset, "RuntimeError", _TEXT)
        else:
            state.training.mismatch[slot] = True
