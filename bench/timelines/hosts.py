"""A host: cores that processes share, memory, a page cache, storage, a clock and its ports."""

from dataclasses import dataclass, field

from .devices import DeviceState


@dataclass(slots=True)
class PortState:
    """A port. `slow`: how much longer transfers take by a fault, `shared`: by other traffic."""

    device: str
    rate: float
    slow: float = 1.0
    shared: float = 1.0
    up: bool = True
    sent: float = 0.0
    received: float = 0.0
    errors: dict[str, float] = field(default_factory=dict)
    congestion: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class HostState:
    """What processes of a host have in common. Memory in bytes, `demand` in cores.

    `disk_queue`: seconds of work that the disk was asked for and has yet to do.
    """

    name: str
    switch: str
    pod: int
    cores: int
    memory: float
    cpu_speed: float
    devices: list[DeviceState]
    ports: list[PortState]
    demand: float = 0.0
    quota: float | None = None
    used: float = 0.0
    cached: float = 0.0
    throttled: float = 0.0
    waited: float = 0.0
    storage_slow: float = 1.0
    disk_full: float = 0.4
    blocked: int = 0
    disk_queue: float = 0.0
    disk_seconds: float = 0.0
    clock_offset: float = 0.0
    clock_error: float = 0.0
    driver: str = "550.54.15"
    lost: bool = False
    shm: float = 0.1
    trainers: int = 0

    def own_demand(self) -> float:
        """Return the cores that the job's processes ask for."""
        return self.trainers * 1.6

    def contention(self) -> float:
        """Return how many times longer a process takes: 1 while there are cores enough."""
        own = self.own_demand()
        if self.quota is not None:
            return max(1.0, own / self.quota) / self.cpu_speed
        return max(1.0, (own + self.demand) / self.cores) / self.cpu_speed

    def utilization(self) -> float:
        own = min(self.own_demand(), self.quota or self.cores)
        return min(1.0, (own + self.demand) / self.cores)

    def network_slow(self) -> float:
        """Return how many times longer a transfer takes through its worst port."""
        working = sum(port.up for port in self.ports)
        worst = max(port.slow * port.shared for port in self.ports)
        return worst * len(self.ports) / working if working else 1e6
