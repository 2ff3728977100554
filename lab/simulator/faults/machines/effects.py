"""What the faults of machines share: what is at fault, how strong, and for how long."""

from dataclasses import replace

import numpy as np

from ...conditions import ClusterConditions
from ...devices import cooling_for, under_limit
from ...placement import device_index
from ...shape import SimulationScenario, Strength


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


def failing_cooling(random: np.random.Generator, strength: Strength) -> dict[str, float]:
    """Return how far clocks sink when cooling fails, as a ratio, and within how many seconds."""
    low, high = (0.9, 0.95) if strength == "weak" else (0.45, 0.85)
    return {"clock": float(random.uniform(low, high)), "ramp": float(random.uniform(10, 60))}


def two_switches(scenario: SimulationScenario) -> SimulationScenario:
    """Return the scenario with at most half of its hosts on a leaf switch: two or more have one."""
    cluster = scenario.cluster
    most = max(min(cluster.hosts_per_switch, cluster.hosts // 2), 2)
    return replace(scenario, cluster=replace(cluster, hosts_per_switch=most))


def force(at: float, onset: float, ramp: float) -> float:
    """Return how far a fault has built up, from 0 to 1."""
    return min(1.0, max(0.0, at - onset) / ramp) if ramp else 1.0


def slower(random: np.random.Generator, strength: Strength, most: float = 2.0) -> float:
    """Return a factor on time: 5-10 % when weak, else from 15 % up."""
    low, high = (1.05, 1.1) if strength == "weak" else (1.15, most)
    return float(random.uniform(low, high))


def of_step(share: float, random: np.random.Generator, strength: Strength) -> float:
    """Return the factor on a part of the step that makes the whole step 5-10 %, or 15-90 %, longer.

    `share` is that part's share of the step.
    """
    return 1 + (slower(random, strength, 1.9) - 1) / max(share, 0.01)


def lasting(random: np.random.Generator, seconds: float) -> dict[str, float]:
    """Return for how long a fault lasts: mostly to the end, sometimes it passes."""
    if random.random() < 0.7:
        return {}
    return {"lasts": float(random.uniform(0.15, 0.3) * seconds)}
