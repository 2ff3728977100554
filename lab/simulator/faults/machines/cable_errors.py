"""network.cable_errors: a bad cable or module: symbols are lost, packets sent again."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from .. import places, requirements
from ..draws import FaultDraw
from . import effects


@dataclass(frozen=True, slots=True)
class CableErrorsFault(places.OnPort):
    """`symbols` and `packets` a second are bad; `factor` is how much longer transfers take."""

    id: ClassVar[str] = "network.cable_errors"
    needs: ClassVar = (requirements.has_hosts(2),)
    until: float = float("inf")
    symbols: float = 60.0
    packets: float = 15.0
    factor: float = 2.0
    trains: float = 0.0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        weak = draw.weak
        return {
            "symbols": float(draw.random.uniform(0.3, 2) if weak else draw.random.uniform(5, 300)),
            "packets": float(draw.random.uniform(0, 0.2) if weak else draw.random.uniform(0.5, 40)),
            "factor": draw.of_step(draw.job.collective),
            "trains": 0.0 if weak else float(draw.random.choice([0.0, 0.02, 0.2])),
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        ports, port = state.ports, effects.port(state, self.place, self.slots)
        begun = min(at, self.until) - self.onset
        ports.recoveries[self.host, port] += int(begun * self.trains)
        if at >= self.until:
            return
        ports.symbol[self.host, port] += self.symbols
        ports.receive[self.host, port] += self.packets
        ports.timeouts[self.host, port] += 0.02 * self.packets
        ports.bandwidth[self.host, port] /= self.factor
