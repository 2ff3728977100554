"""A device: what its rank makes it do, and the clock, power and heat that follow."""

from dataclasses import dataclass, field
from random import Random

TAU_SECONDS = 25.0
DRIFT_SECONDS = 60.0
CLOCK_FLOOR = 0.35


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """Watts, hertz, bytes, degrees Celsius of a kind of accelerator."""

    name: str
    watts: float
    idle_watts: float
    hertz: float
    memory: float
    hot: float


MODELS = (
    DeviceModel("H100", 700.0, 72.0, 1.98e9, 80 * 2**30, 86.0),
    DeviceModel("A100", 400.0, 55.0, 1.41e9, 80 * 2**30, 88.0),
    DeviceModel("L40S", 350.0, 34.0, 2.52e9, 48 * 2**30, 88.0),
    DeviceModel("B200", 1000.0, 140.0, 1.97e9, 180 * 2**30, 87.0),
)


@dataclass(slots=True)
class DeviceState:
    """One accelerator. `intensity`: how near its work comes to full power."""

    model: DeviceModel
    uuid: str
    index: int
    rng: Random
    quality: float
    intensity: float
    cap: float
    ambient: float
    resistance: float
    drift_sigma: float = 0.0
    drift: float = 0.0
    slow: float = 1.0
    lock: float = 1.0
    foreign: float = 0.0
    lost: bool = False
    pcie_width: int = 16
    remap: str = ""
    nvlink_slow: float = 1.0
    temperature: float = 45.0
    watts: float = 100.0
    clock: float = 1.0
    joules: float = 0.0
    memory: float = 0.0
    reasons: frozenset[str] = frozenset()
    counts: dict[str, float] = field(default_factory=dict)
    foreign_memory: dict[int, float] = field(default_factory=dict)
    doing: str = "idle"
    since: float = 0.0
    spent: dict[str, float] = field(default_factory=lambda: {"compute": 0.0, "comm": 0.0})
    _seen: tuple[float, float] = (0.0, 0.0)
    _heat: float = 1.0

    def enter(self, now: float, doing: str) -> None:
        """Change what it does: compute, comm or idle."""
        self.settle(now)
        self.doing = doing

    def settle(self, now: float) -> None:
        """Count the seconds of what it has been doing up to now."""
        if self.doing != "idle":
            self.spent[self.doing] += now - self.since
        self.since = now

    def speed(self) -> float:
        """Return how fast it computes beside one at full clock."""
        rate = self.quality * (1.0 + self.drift) * self.clock**0.85
        return float(rate * (1.0 - self.foreign) / self.slow)

    def tick(self, now: float) -> None:
        """Advance clock, power and temperature by one second."""
        self.settle(now)
        push = self.drift_sigma * (2.0 / DRIFT_SECONDS) ** 0.5
        self.drift += self.rng.gauss(0.0, push) - self.drift / DRIFT_SECONDS
        compute = min(1.0, self.spent["compute"] - self._seen[0])
        comm = min(1.0, self.spent["comm"] - self._seen[1])
        self._seen = (self.spent["compute"], self.spent["comm"])
        span = self.model.watts - self.model.idle_watts
        load = self.intensity * compute + 0.22 * comm + 0.6 * self.foreign
        reasons = set()
        top = self.lock * self._heat
        wanted = self.model.idle_watts + span * load * top**2.2
        clock = top
        if wanted > self.cap:
            share = (self.cap - self.model.idle_watts) / (wanted - self.model.idle_watts)
            clock = max(CLOCK_FLOOR, top * share ** (1 / 2.2))
            reasons.add("power_cap")
        self.clock = clock * self.rng.uniform(0.994, 1.0)
        self.watts = self.model.idle_watts + span * load * self.clock**2.2
        self.watts *= self.rng.uniform(0.985, 1.015)
        self.joules += self.watts
        warm = self.ambient + self.resistance * self.watts
        self.temperature += (warm - self.temperature) / TAU_SECONDS
        if self.temperature > self.model.hot:
            self._heat = max(CLOCK_FLOOR, self._heat * 0.96)
        elif self.temperature < self.model.hot - 2.0:
            self._heat = min(1.0, self._heat * 1.01)
        if self._heat < 0.995:
            reasons.add("thermal_sw" if self.temperature < self.model.hot + 4.0 else "thermal_hw")
        if self.lock < 1.0:
            reasons.add("clocks_setting")
        if compute + comm + self.foreign < 0.02:
            reasons.add("idle")
        self.reasons = frozenset(reasons)
