"""gpu.thermal_throttle: heat holds the clocks of a device down, or of all devices of a host."""

from dataclasses import dataclass
from typing import ClassVar

from .....vocabulary import entities
from ...conditions import Conditions
from ...placement import Seats, device_id, device_index, host_name, rank_of, ranks_of_host
from ...shape import Cluster


@dataclass(frozen=True, slots=True)
class ThermalThrottle:
    """`clock` is the ratio to nominal it sinks to in `ramp` seconds; `whole_host`: all devices."""

    id: ClassVar[str] = "gpu.thermal_throttle"
    onset: float
    host: int
    place: int
    slots: int
    until: float = float("inf")
    clock: float = 0.6
    ramp: float = 20.0
    whole_host: bool = False

    def act(self, state: Conditions, at: float) -> None:
        """Heat the device up and slow it down."""
        if not self.onset <= at < self.until:
            return
        force = min(1.0, (at - self.onset) / self.ramp) if self.ramp else 1.0
        for place in range(self.slots) if self.whole_host else (self.place,):
            slot = device_index(self.host, place, self.slots)
            state.clock[slot] = 1 - (1 - self.clock) * force
            state.heat[slot] = 28.0 * force
            state.thermal[slot] = force > 0.3

    def entity(self, cluster: Cluster, seats: Seats, job: str) -> entities.Entity:
        """Return the device, or the host when all its devices are hot."""
        name = host_name(self.host)
        if self.whole_host:
            return entities.host(name, ranks_of_host(seats, self.host))
        rank = rank_of(seats, self.host, self.place)
        return entities.gpu(device_id(self.host, self.place), name, (rank,))
