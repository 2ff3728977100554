"""software.uneven_batches: a rank has fewer batches and leaves the loop before its peers."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats, device_index
from ...shape import Cluster, Scenario, Strength
from .. import requirements
from . import preparing


@dataclass(frozen=True, slots=True)
class UnevenBatches:
    """how: it "exits" in order, "evaluates", or "waits" at the end of its epoch; the peers hang."""

    id: ClassVar[str] = "software.uneven_batches"
    onset: float
    host: int
    place: int
    slots: int
    how: Literal["exits", "evaluates", "waits"] = "exits"

    @classmethod
    def prepared(cls, scenario: Scenario, random: np.random.Generator) -> Scenario:
        """Return the scenario; a hang needs peers."""
        announces = preparing.first(scenario).announces or preparing.flip(random)
        return requirements.has_ranks(2)(
            requirements.changed(scenario, announces=announces), random
        )

    @classmethod
    def drawn(
        cls, scenario: Scenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        """Return what it does instead."""
        how = "exits" if preparing.flip(random) else "evaluates"
        return {"how": "waits" if strength == "weak" else how}

    def act(self, state: Conditions, at: float) -> None:
        """Let it leave."""
        if at >= self.onset:
            slot = device_index(self.host, self.place, self.slots)
            state.training.leaves[slot] = True
            state.training.leaves_how = self.how

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        return preparing.the_rank(seats, self.host, self.place)
