"""software.regression: a new version of code, configuration or driver is slower everywhere."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from .....vocabulary import entities
from .....vocabulary.ranks import RankSet
from ...conditions import ClusterConditions
from ...placement import RankSeats
from ...progress import SimulatedAttempt
from ...shape import SimulatedCluster, SimulationScenario
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class RegressionFault:
    """`factor` on everybody's compute. `announced`: a change event, of `what`, says so."""

    id: ClassVar[str] = "software.regression"
    onset: float
    factor: float = 1.2
    announced: bool = True
    what: Literal["code", "config", "driver", "image"] = "code"
    restarted: bool = False

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        if draw.flip(0.3):
            return draw.changed(restarts=())
        return draw.with_restart(restarts_after_crash=False)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        factor = draw.between(plain=(1.12, 1.4), weak=(1.05, 1.1))
        found: dict[str, Any] = {
            "factor": factor,
            "what": str(draw.random.choice(["code", "config", "driver", "image"])),
        }
        job = draw.job
        if job.restarts:
            # The new version comes with the restart, announced or not.
            found |= {
                "onset": job.restarts[-1],
                "restarted": True,
                "announced": draw.flip(),
            }
        return found

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.work *= self.factor

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        return entities.Entity("code", job, None, RankSet(range(seats.world)))

    @property
    def resumes(self) -> bool:
        """Tell whether a restart brings it."""
        return self.restarted

    def said(self, attempt: SimulatedAttempt) -> list[tuple[float, str, dict[str, Any]]]:
        """Return the deployment as a change event."""
        if not self.announced:
            return []
        texts = {
            "code": "deployed revision 4f2c91 of the trainer",
            "config": "activation recomputation switched on",
            "driver": "driver 580.65.06 -> 580.82.07",
            "image": "image train:2026-02-27 -> train:2026-03-01",
        }
        return [(self.onset, "change", {"kind": self.what, "text": texts[self.what]})]
