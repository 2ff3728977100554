"""host.lost: a host falls silent, its ranks with it; the peers wait for it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats
from ...shape import Cluster, Scenario, Strength
from .. import records
from . import effects


@dataclass(frozen=True, slots=True)
class HostLost:
    """From outside it is the same silence for all causes. `logged`: a machine check before."""

    id: ClassVar[str] = "host.lost"
    onset: float
    host: int
    logged: bool = False

    @classmethod
    def drawn(
        cls, scenario: Scenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        """Return whether anything was written before."""
        return {"logged": strength == "plain" and bool(random.random() < 0.3)}

    def act(self, state: Conditions, at: float) -> None:
        """Silence the host."""
        if at >= self.onset:
            state.silent[self.host] = True
            state.lost_at = self.onset

    def records(self, cluster: Cluster) -> list[records.Record]:
        """Return what the kernel writes, while it can."""
        if not self.logged:
            return []
        text = "mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 9: be00000000800400"
        return [records.kernel(self.onset - 1.5, self.host, "host.machine_check", "root", text)]

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        return effects.host(seats, self.host)
