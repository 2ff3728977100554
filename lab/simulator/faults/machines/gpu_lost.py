"""gpu.lost: a device falls off the bus; what runs on it dies or stands still."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions, ProcessDeath
from ...shape import SimulatedCluster, SimulationScenario, Strength
from .. import places, records, requirements


@dataclass(frozen=True, slots=True)
class GpuLostFault(places.OnDevice):
    """The driver sees it gone at `onset`; the process fails `after` seconds, or hangs when None.

    `logged`: the driver writes XID 79.
    """

    id: ClassVar[str] = "gpu.lost"
    needs: ClassVar = (requirements.with_devices,)
    after: float | None = 1.0
    logged: bool = True

    @classmethod
    def drawn(
        cls, scenario: SimulationScenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        dies = random.random() < 0.7
        return {
            "after": float(random.uniform(0.3, 5.0)) if dies else None,
            "logged": strength == "plain",
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        slot = self.slot
        state.devices.lost[slot] = True
        state.devices.stalled[slot] = True
        if self.after is not None:
            text = "RuntimeError: CUDA error: unspecified launch failure"
            state.deaths[slot] = ProcessDeath.raised(self.onset + self.after, "RuntimeError", text)

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        text = "GPU has fallen off the bus."
        return [records.xid(self.onset + 0.2, self.host, self.place, 79, text)]
