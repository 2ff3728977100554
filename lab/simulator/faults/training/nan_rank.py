"""numerics.nan_rank: one rank's own value goes non-finite; the reduction spoils everybody."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from .....vocabulary import entities
from ...conditions import POISONS_GRADIENT, POISONS_LOSS, Conditions
from ...placement import Seats, device_index, host_name, rank_of
from ...shape import Cluster, Scenario, Strength


@dataclass(frozen=True, slots=True)
class NanRank:
    """`what` goes bad on the rank: its "loss", or only its "gradient" (the loss stays finite).

    `once`: in a single step. Whether the job survives it is the job's affair (guards_numerics).
    """

    id: ClassVar[str] = "numerics.nan_rank"
    onset: float
    host: int
    place: int
    slots: int
    what: Literal["loss", "gradient"] = "loss"
    once: bool = True

    @classmethod
    def drawn(
        cls, scenario: Scenario, random: np.random.Generator, strength: Strength
    ) -> dict[str, Any]:
        """Return what goes bad; a loss that stays finite is easily overlooked."""
        return {"what": "gradient" if strength == "weak" else "loss"}

    def act(self, state: Conditions, at: float) -> None:
        """Spoil the rank's values."""
        if at < self.onset:
            return
        slot = device_index(self.host, self.place, self.slots)
        state.poison[slot] = POISONS_LOSS if self.what == "loss" else POISONS_GRADIENT
        state.poison_once = self.once

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        return entities.rank(rank_of(seats, self.host, self.place), host_name(self.host))
