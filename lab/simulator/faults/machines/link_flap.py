"""network.link_flap: a port loses its link for moments, again and again."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...fabric import device_name, port_of
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw
from . import effects


@dataclass(frozen=True, slots=True)
class LinkFlapFault(places.OnPort):
    """It is down for `down` seconds in every `every`; transfers stand still meanwhile."""

    id: ClassVar[str] = "network.link_flap"
    needs: ClassVar = (requirements.has_hosts(2),)
    until: float = float("inf")
    every: float = 30.0
    down: float = 3.0
    logged: bool = True

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        if draw.weak:
            return {"every": float(draw.random.uniform(45, 90)), "down": 1.5, "logged": False}
        return {
            "every": float(draw.random.uniform(12, 45)),
            "down": float(draw.random.uniform(2, 6)),
            "logged": draw.flip(0.7),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        port = effects.port(state, self.place, self.slots)
        begun = min(at, self.until) - self.onset
        number = int(begun // self.every)
        state.ports.downs[self.host, port] += number + 1
        state.ports.recoveries[self.host, port] += 2 * (number + 1)
        if at >= self.until or begun - number * self.every >= self.down:
            return
        state.ports.up[self.host, port] = False
        state.ports.severed[self.host, port] = True
        state.ports.discards[self.host, port] = 20.0
        state.released = self.onset + number * self.every + self.down

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        text = f"mlx5_core 0000:9a:00.0 {device_name(port_of(cluster, self.place))}: Link down"
        return [
            records.kernel(
                self.onset + self.every * number + 0.1,
                self.host,
                "nic.link_down",
                "confirmation",
                text,
            )
            for number in range(20)
            if self.onset + self.every * number < self.until
        ]
