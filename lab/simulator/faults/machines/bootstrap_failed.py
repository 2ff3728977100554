"""network.bootstrap_failed: peers cannot reach a host when a job starts; no step ever ends."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw

_SHARE = 0.8
"""The most that ranks wait, as a share of what is left of the recording: the last step before a
requeue, and what they log when they give up, are in it as well."""


@dataclass(frozen=True, slots=True)
class BootstrapFailedFault(places.OnHost):
    """All ranks wait for it until the time-out of the start (Job.start_timeout)."""

    id: ClassVar[str] = "network.bootstrap_failed"
    needs: ClassVar = (requirements.has_hosts(2),)

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        """Return the draw.scenario; half of the time it is a requeue that fails.

        The time-out ends within the recording: before it, ranks that wait look as any start does.
        """
        job = draw.job
        moment = float(draw.random.uniform(0.3, 0.45) * draw.scenario.seconds)
        restarts = (moment,) if draw.flip(0.5) else ()
        timeout = float(draw.random.uniform(0.1, 0.6) * draw.scenario.seconds)
        begins = moment + job.restart_seconds if restarts else job.starts_after
        left = draw.scenario.seconds - begins - job.init_seconds
        job = replace(
            job,
            restarts=restarts,
            restarts_after_crash=False,
            start_timeout=min(job.start_timeout, timeout, _SHARE * left),
        )
        return replace(draw.scenario, jobs=(job, *draw.scenario.jobs[1:]))

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        job = draw.job
        return {"onset": job.restarts[-1] if job.restarts else job.starts_after + 1.0}

    @property
    def seen_from(self) -> float:
        """Return from when on the ranks are where it strikes: the last attempt."""
        return float("inf")

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        state.nodes.unreachable[self.host] = True
