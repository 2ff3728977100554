"""software.init_failed: the job starts and never reaches its first step."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class InitFailedFault(places.OfJob):
    """how: it "waits" for members that never come, until `timeout`, or "fails" while it sets up."""

    id: ClassVar[str] = "software.init_failed"
    how: Literal["waits", "fails"] = "waits"
    timeout: float = 120.0

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        start = float(draw.random.uniform(0.1, 0.3)) * draw.scenario.seconds
        again = draw.flip()
        return draw.changed(
            starts_after=start, restarts=(), restarts_after_crash=again, ends_after=0.0
        )

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        fails = not draw.weak and draw.flip()
        timeout = float(draw.random.uniform(60, 120)) if not draw.weak else 1800.0
        start = draw.job.starts_after
        return {"how": "fails" if fails else "waits", "timeout": timeout, "onset": start}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.init = self.how
            state.training.init_timeout = self.timeout
