"""What the faults of machines share: places, heat, how far a fault has built up."""

from dataclasses import replace

from ...conditions import ClusterConditions
from ...devices import cooling_for, under_limit
from ...placement import device_index
from ...shape import SimulationScenario
from ..draws import FaultDraw


def port(state: ClusterConditions, place: int, slots: int) -> int:
    """Return the index of the port that serves a device's place."""
    return int(place * state.ports.up.shape[1] // slots)


def slots_of(number: int, place: int, slots: int, *, whole_host: bool) -> list[int]:
    """Return the slots of the cluster that a fault of one device, or of all of a host, is about."""
    return [device_index(number, one, slots) for one in (range(slots) if whole_host else (place,))]


def free_clock(state: ClusterConditions, slot: int) -> float:
    """Return the clock ratio that a device reaches under its power limit."""
    return under_limit(float(state.devices.limit[slot]))


def heat(state: ClusterConditions, slot: int, *, clock: float, force: float) -> None:
    """Let a device's cooling fail so far that heat would hold it at `clock` of what it reached."""
    sound = float(state.devices.cooling[slot])
    worst = cooling_for(clock * free_clock(state, slot), float(state.devices.inlet[slot]))
    state.devices.cooling[slot] = sound + max(worst - sound, 0.0) * force


def failing_cooling(draw: FaultDraw) -> dict[str, float]:
    """Return how far clocks sink when cooling fails, as a ratio, and within how many seconds."""
    clock = draw.between(plain=(0.45, 0.85), weak=(0.9, 0.95))
    return {"clock": clock, "ramp": float(draw.random.uniform(10, 60))}


def two_switches(scenario: SimulationScenario) -> SimulationScenario:
    """Return the scenario with at most half of its hosts on a leaf switch: two or more have one."""
    cluster = scenario.cluster
    most = max(min(cluster.hosts_per_switch, cluster.hosts // 2), 2)
    return replace(scenario, cluster=replace(cluster, hosts_per_switch=most))


def force(at: float, onset: float, ramp: float) -> float:
    """Return how far a fault has built up, from 0 to 1."""
    return min(1.0, max(0.0, at - onset) / ramp) if ramp else 1.0
