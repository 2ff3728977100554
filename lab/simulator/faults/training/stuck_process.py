"""software.stuck_process: one rank's main thread stops before a collective; its peers wait."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places
from ..draws import FaultDraw


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
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        seconds = float("inf")
        if draw.weak:
            seconds = max(30.0, 12 * draw.job.step_seconds)
        return {
            "point": float(draw.random.uniform(0.1, 0.95)),
            "busy": draw.flip(0.3),
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
