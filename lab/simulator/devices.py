"""Accelerators: their models, what faults do to them, and what clocks come of it.

The physics is a steady state. A device at full load draws `static + dynamic * clock ** 2.4` (the
dynamic part of CMOS power goes with the clock and the square of the voltage, which follows the
clock); it settles at the highest clock at which neither its power limit, nor a power brake, nor its
temperature limit, nor a clock setting is exceeded. How fast a fault builds up is the fault's own.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .shape import SimulatedCluster

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

INLET_CELSIUS = 31.0
RISE_CELSIUS = 38.0
"""Rise of a device's temperature over its inlet at its power limit, with sound cooling."""
SLOWDOWN_CELSIUS = 86.0
LOWEST_CLOCK = 0.15
"""A device never stops by itself: the ratio to which protection lowers its clock at most."""
BRAKE_CLOCK = 0.5
"""An asserted power brake halves the clocks in hardware."""
_EXPONENT = 2.4


@dataclass(frozen=True, slots=True)
class AcceleratorModel:
    """One accelerator as its exporter shows it; clocks in Hz, power in W, memory in bytes.

    `links` are the links to its neighbours on the host (NVLink, HCCS, XGMI, MLU-Link), `width` and
    `generation` its PCIe link at best.
    """

    vendor: Literal["nvidia", "amd", "ascend", "hygon", "cambricon"]
    name: str
    clock: float
    limit: float
    idle_watts: float
    idle_clock: float
    memory_clock: float
    memory: float
    links: int
    width: int
    generation: int


MODELS: dict[str, AcceleratorModel] = {
    "nvidia": AcceleratorModel(
        "nvidia", "NVIDIA H100 80GB HBM3", 1_980e6, 700.0, 75.0, 345e6, 2_619e6, 80 * 2.0**30,
        8, 16, 5,
    ),
    "amd": AcceleratorModel(
        "amd", "AMD Instinct MI300X", 2_100e6, 750.0, 140.0, 132e6, 1_300e6, 192 * 2.0**30,
        7, 16, 5,
    ),
    "ascend": AcceleratorModel(
        "ascend", "Ascend 910B3", 1_800e6, 400.0, 90.0, 800e6, 1_600e6, 64 * 2.0**30, 7, 16, 4,
    ),
    "hygon": AcceleratorModel(
        "hygon", "K100-AI", 1_500e6, 350.0, 80.0, 500e6, 1_750e6, 64 * 2.0**30, 4, 16, 4,
    ),
    "cambricon": AcceleratorModel(
        "cambricon", "MLU590", 1_900e6, 550.0, 85.0, 400e6, 1_600e6, 96 * 2.0**30, 6, 16, 5,
    ),
}  # fmt: skip

_NVIDIA = {
    (1_980e6, 700.0): "NVIDIA H100 80GB HBM3",
    (1_755e6, 350.0): "NVIDIA H100 PCIe",
    (1_410e6, 400.0): "NVIDIA A100-SXM4-80GB",
    (2_520e6, 450.0): "NVIDIA GeForce RTX 4090",
}


def nvidia_name(model: tuple[float, float]) -> str:
    """Return what a device of this SM clock (Hz) and power limit (W) is called."""
    clock, limit = model
    return _NVIDIA.get(model, f"NVIDIA {clock / 1e6:.0f} MHz {limit:.0f} W")


@dataclass(slots=True)
class DeviceState:
    """What faults and the silicon lottery do to devices; arrays over the slots of the cluster.

    efficiency: factor on dynamic power. cooling: factor on thermal resistance, 1 is sound. inlet:
    degrees above the cluster's inlet. limit: power limit as a ratio to the model's. brake: the
    power supply asks for less, in hardware. lock: clock setting as a ratio to the highest clock.
    foreign: share of the device's time that another process takes, `foreign_bytes` what it holds.
    lost: gone from the bus. hung: its firmware answers nobody. stalled: what was launched on it
    never ends. lanes, generation: PCIe width as a ratio, and generations below the best, under
    load. replays, link_errors, corrected: events a second. links_down: links to neighbours that are
    down. link_width: bandwidth of those links as a ratio. uncorrected: memory errors so far.
    remapped: rows replaced so far. pending, failed: state of the row remapping.
    """

    efficiency: Array
    cooling: Array
    inlet: Array
    limit: Array
    brake: Flags
    lock: Array
    foreign: Array
    foreign_bytes: Array
    lost: Flags
    hung: Flags
    stalled: Flags
    lanes: Array
    generation: Array
    replays: Array
    corrected: Array
    links_down: Array
    link_errors: Array
    link_width: Array
    uncorrected: Array
    remapped: Array
    pending: Flags
    failed: Flags
    # What comes of it, set by `settle`.
    capped: Flags
    thermal_sw: Flags
    thermal_hw: Flags


def sound(cluster: SimulatedCluster, seed: int) -> DeviceState:
    """Return devices with nothing wrong: they differ only by manufacture and place in the chassis.

    The lottery belongs to the machines: the same seed gives the same devices.
    """
    made = _made(cluster, seed)
    return DeviceState(*(getattr(made, name).copy() for name in DeviceState.__slots__))


@lru_cache(maxsize=16)
def _made(cluster: SimulatedCluster, seed: int) -> DeviceState:
    slots = cluster.hosts * cluster.slots
    random = np.random.default_rng([seed, 21])
    inlet = np.tile(np.linspace(0.0, 4.0, cluster.slots), cluster.hosts)
    for host, place, degrees in cluster.hot:
        inlet[host * cluster.slots + place] += degrees
    corrected = np.zeros(slots)
    for host, place, hourly in cluster.corrected:
        corrected[host * cluster.slots + place] += hourly / 3600

    def no() -> Flags:
        return np.zeros(slots, dtype=bool)

    return DeviceState(
        efficiency=np.clip(random.normal(1.0, 0.015, slots), 0.95, 1.04),
        cooling=np.clip(random.normal(1.0, 0.04, slots), 0.9, 1.12),
        inlet=inlet,
        limit=np.full(slots, cluster.power_cap),
        brake=no(),
        lock=np.ones(slots),
        foreign=np.zeros(slots),
        foreign_bytes=np.zeros(slots),
        lost=no(),
        hung=no(),
        stalled=no(),
        lanes=np.ones(slots),
        generation=np.zeros(slots),
        replays=np.zeros(slots),
        corrected=corrected,
        links_down=np.zeros(slots),
        link_errors=np.zeros(slots),
        link_width=np.ones(slots),
        uncorrected=np.zeros(slots),
        remapped=np.zeros(slots),
        pending=no(),
        failed=no(),
        capped=no(),
        thermal_sw=no(),
        thermal_hw=no(),
    )


def settle(state: DeviceState) -> Array:
    """Set what holds the clocks down; return the clocks under load as ratios to the highest."""
    by_power = clock_at((np.minimum(state.limit, 1.0) - _STATIC) / (_DYNAMIC * state.efficiency))
    free = np.minimum(by_power, state.lock)
    inlet = INLET_CELSIUS + state.inlet
    allowed = (SLOWDOWN_CELSIUS - inlet) / (RISE_CELSIUS * state.cooling)
    by_heat = clock_at((allowed - _STATIC) / (_DYNAMIC * state.efficiency))
    clock = np.minimum(free, by_heat)
    clock = np.where(state.brake, np.minimum(clock, BRAKE_CLOCK), clock)
    hot = (by_heat < free) & (by_heat < 1.0)
    state.thermal_hw = hot & (by_heat < 0.8)
    state.thermal_sw = hot & ~state.thermal_hw
    state.capped = (by_power < np.minimum(state.lock, by_heat)) & (by_power < 1.0) & ~state.brake
    return clock


_STATIC, _DYNAMIC = 0.24, 0.73
"""Shares of the power limit that a device draws at full load and highest clock."""


def clock_at(dynamic: Array) -> Array:
    """Return the clock ratio at which the dynamic power is this share of that at clock 1."""
    return np.clip(np.maximum(dynamic, 1e-6) ** (1 / _EXPONENT), LOWEST_CLOCK, 1.0)


def power(clock: Array, work: Array, kernel: Array, efficiency: Array, idle: float) -> Array:
    """Return the draw as a share of the power limit; `work` and `kernel` are shares of time.

    A spinning collective kernel keeps a device "utilised" at a fraction of its power.
    """
    static = idle + (_STATIC - idle) * kernel
    return static + _DYNAMIC * efficiency * work * clock**_EXPONENT


def cooling_for(clock: float, inlet: float = 2.0) -> float:
    """Return the factor on thermal resistance at which a device settles at this clock ratio."""
    drawn = limit_for(clock)
    return (SLOWDOWN_CELSIUS - INLET_CELSIUS - inlet) / (RISE_CELSIUS * drawn)


def limit_for(clock: float) -> float:
    """Return the ratio of the power limit at which a device settles at this clock ratio."""
    return _STATIC + _DYNAMIC * math.pow(clock, _EXPONENT)


def under_limit(limit: float) -> float:
    """Return the clock ratio that an average device reaches under this ratio of its power limit."""
    return float(clock_at(np.array([(min(limit, 1.0) - _STATIC) / _DYNAMIC]))[0])
