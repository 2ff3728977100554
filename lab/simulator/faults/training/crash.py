"""software.crash: one rank's process ends by itself; its peers die of it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...conditions import ClusterConditions, ProcessDeath
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class CrashFault(places.OnRank):
    """`how`: an "exception" (exit code 1, a traceback), a "segfault", or "killed" by signal 9."""

    id: ClassVar[str] = "software.crash"
    how: Literal["exception", "segfault", "killed"] = "exception"

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        if draw.weak:
            return {"how": "killed"}
        return {"how": "exception" if draw.flip() else "segfault"}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        deaths = {
            "exception": ProcessDeath.raised(
                self.onset,
                "exception",
                "Traceback (most recent call last): ... IndexError: index 7 is out of range",
            ),
            "segfault": ProcessDeath(
                self.onset,
                signal=11,
                signature="python.segfault",
                text="Fatal Python error: Segmentation fault",
                role="root",
            ),
            "killed": ProcessDeath(self.onset, signal=9),
        }
        state.deaths[self.slot] = deaths[self.how]
