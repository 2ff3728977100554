"""network.switch: a leaf switch fails or drops packets; every port on it suffers."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from .....vocabulary.ranks import RankSet
from ...conditions import ClusterConditions, ProcessDeath
from ...fabric import port_of
from ...placement import RankSeats, device_index, ports_on, rail_switch
from ...shape import SimulatedCluster, SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw
from . import effects


@dataclass(frozen=True, slots=True)
class SwitchFault(places.AtPlace):
    """`down`: its ports lose their link, transfers hang, and after `gives_up` seconds ranks end.

    Else it drops packets, and transfers take `factor` times as long. It is the switch of the port
    that serves the place.
    """

    id: ClassVar[str] = "network.switch"
    needs: ClassVar = (requirements.has_hosts(4),)
    until: float = float("inf")
    down: bool = False
    factor: float = 2.0
    gives_up: float = 30.0
    per_switch: int = 2
    rails: bool = False

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        return effects.two_switches(draw.scenario)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {
            "down": not draw.weak and draw.flip(0.4),
            "factor": draw.of_step(draw.job.collective),
            "gives_up": float(draw.random.uniform(10, 50)),
            "per_switch": draw.scenario.cluster.hosts_per_switch,
            "rails": draw.scenario.cluster.rails,
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if at < self.onset:
            return
        ports, mine = state.ports, effects.port(state, self.place, self.slots)
        first, on = self.host // self.per_switch * self.per_switch, at < self.until
        hosts = slice(first, first + self.per_switch)
        hit = (hosts, slice(mine, mine + 1)) if self.rails else (hosts, slice(None))
        if self.down:
            ports.downs[hit] += 1
            ports.up[hit] = not on
            ports.severed[hit] = on
            state.released = self.until if on else state.released
            self._end(state, first, mine)
        elif on:
            ports.bandwidth[hit] /= self.factor
            ports.discards[hit] += 30.0
            ports.timeouts[hit] += 0.8
            ports.waits[hit] *= 20

    def _end(self, state: ClusterConditions, first: int, port: int) -> None:
        """Let the library end the ranks behind a switch that stays away."""
        if self.until < float("inf"):
            return
        for host in range(first, min(first + self.per_switch, len(state.ports.up))):
            for place in range(self.slots):
                if not self.rails or effects.port(state, place, self.slots) == port:
                    slot = device_index(host, place, self.slots)
                    state.deaths[slot] = _death(self.onset + self.gives_up + 0.1 * host)

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        name = rail_switch(cluster, self.host, port_of(cluster, self.place))
        ports = set(ports_on(cluster, name))
        ranks = [
            rank
            for rank in range(seats.world)
            if (int(seats.host[rank]), port_of(cluster, int(seats.place[rank]))) in ports
        ]
        return entities.Entity("switch", name, None, RankSet(ranks))


def _death(at: float) -> ProcessDeath:
    text = (
        "DistBackendError: NCCL error: unhandled system error. Last error: NET/IB: Got completion "
        "with status=IBV_WC_RETRY_EXC_ERR(12)"
    )
    return ProcessDeath.raised(at, "DistBackendError", text)
