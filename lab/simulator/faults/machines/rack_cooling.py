"""gpu.thermal_throttle in a rack: its cooling fails, and heat holds the clocks of its devices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from ...conditions import ClusterConditions
from ...placement import RankSeats
from ...shape import SimulatedCluster, SimulationScenario
from .. import places, requirements
from ..draws import FaultDraw
from . import effects


@dataclass(frozen=True, slots=True)
class RackCoolingFault:
    """Every device of the `per_rack` hosts around `host` settles at `clock` of what it reached.

    It takes `ramp` seconds, and air reaches each host `lag` seconds after the one before it. A
    rack's hosts share its leaf switch. What is truly at fault has no name in the vocabulary: any of
    the hosts names it.
    """

    id: ClassVar[str] = "gpu.thermal_throttle"
    needs: ClassVar = (requirements.has_hosts(4), requirements.with_devices)
    onset: float
    host: int
    slots: int
    until: float = float("inf")
    clock: float = 0.6
    ramp: float = 20.0
    lag: float = 3.0
    per_rack: int = 2

    @classmethod
    def prepared(cls, draw: FaultDraw) -> SimulationScenario:
        return effects.two_switches(draw.scenario)

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        return {
            **effects.failing_cooling(draw),
            "lag": float(draw.random.uniform(0, 5)),
            "per_rack": draw.scenario.cluster.hosts_per_switch,
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        hosts = len(state.devices.cooling) // self.slots
        for number, host in enumerate(self._rack(hosts)):
            onset = self.onset + number * self.lag
            if not onset <= at < self.until:
                continue
            force = effects.force(at, onset, self.ramp)
            for slot in effects.slots_of(host, 0, self.slots, whole_host=True):
                effects.heat(state, slot, clock=self.clock, force=force)

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return the first host of the rack."""
        return places.host(seats, self._rack(cluster.hosts)[0])

    def accepted(
        self, cluster: SimulatedCluster, seats: RankSeats, job: str
    ) -> Sequence[entities.Entity]:
        return [places.host(seats, number) for number in self._rack(cluster.hosts)[1:]]

    def _rack(self, hosts: int) -> range:
        first = self.host // self.per_rack * self.per_rack
        return range(first, min(first + self.per_rack, hosts))
