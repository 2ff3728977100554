"""host.clock_skew: a host's clock runs away from the others; the job feels nothing."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places
from ..draws import FaultDraw
from . import effects


@dataclass(frozen=True, slots=True)
class ClockSkewFault(places.OnHost):
    """The clock jumps by `jump` seconds, or drifts so far in `ramp` seconds.

    `reported`: the time daemon measures it; else nothing disciplines the clock and its offset is
    reported by nobody.
    """

    id: ClassVar[str] = "host.clock_skew"
    jump: float = 5.0
    ramp: float = 0.0
    reported: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        drifts = draw.flip(0.5)
        return {
            "jump": draw.between(plain=(1.5, 60.0), weak=(0.25, 0.8))
            * float(draw.random.choice([-1, 1, 1])),
            "ramp": float(draw.random.uniform(0.1, 0.4) * draw.scenario.seconds) if drifts else 1.0,
            "reported": draw.flip(0.6),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        share = effects.force(at, self.onset, self.ramp)
        state.nodes.clock[self.host] = self.jump * share
        state.nodes.unsynchronised[self.host] = not self.reported
