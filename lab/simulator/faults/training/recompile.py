"""software.recompile: new shapes make the compiler work again and again."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...conditions import ClusterConditions
from ...progress import SimulatedAttempt
from .. import places
from ..draws import FaultDraw

_LIMIT = 8
"""Compilations of one function before torch._dynamo warns: config.recompile_limit."""


@dataclass(frozen=True, slots=True)
class RecompileFault(places.OfJob):
    """A step takes `seconds` more with this `chance`; `logged`: the compiler warns."""

    id: ClassVar[str] = "software.recompile"
    chance: float = 0.2
    seconds: float = 2.0
    logged: bool = False

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        steps = draw.between(plain=(1.0, 3.0), weak=(0.5, 0.8))
        chance = draw.between(plain=(0.12, 0.3), weak=(0.06, 0.12))
        seconds = steps * draw.job.step_seconds
        return {"seconds": seconds, "chance": chance, "logged": draw.flip(0.6)}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            state.training.recompiles = (self.chance, self.seconds)

    def said(self, attempt: SimulatedAttempt) -> list[tuple[float, str, dict[str, Any]]]:
        """Return the compiler's warning when it gives up on specialising, if it comes to that."""
        steps = attempt.steps
        fastest = np.array([row.min() for row in steps.compute])
        begun = np.array([row.max() for row in steps.start])
        # A third: how long it takes strays by as much.
        built = fastest > np.median(fastest) + self.seconds / 3 if len(fastest) else fastest > 0
        compiled = np.flatnonzero(built & (begun >= self.onset))
        if not self.logged or len(compiled) < _LIMIT:
            return []
        at = float(steps.end[compiled[_LIMIT - 1]].max())
        text = "torch._dynamo hit config.recompile_limit (8); to log all recompilation reasons ..."
        pairs = {"signature": "torch.recompile_limit", "role": "root", "rank": 0, "text": text}
        return [(at, "log.fault", pairs)]
