"""numerics.nan_rank: one rank's own value goes non-finite; the reduction spoils everybody."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...conditions import POISONS_GRADIENT, POISONS_LOSS, ClusterConditions
from .. import places
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class NanRankFault(places.OnRank):
    """`what` goes bad on the rank: its "loss", or only its "gradient" (the loss stays finite).

    `once`: in a single step. Whether the job survives it is the job's affair (guards_numerics).
    """

    id: ClassVar[str] = "numerics.nan_rank"
    what: Literal["loss", "gradient"] = "loss"
    once: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {"what": "gradient" if draw.weak else "loss"}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        slot = self.slot
        state.poison[slot] = POISONS_LOSS if self.what == "loss" else POISONS_GRADIENT
        state.poison_once = self.once
