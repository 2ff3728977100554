"""What there is to read of one device, whoever reads it: the physics behind its series."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar
from .. import devices, memory
from ..devices import AcceleratorModel
from ..shape import SimulatedCluster
from ..site import ConditionHistory

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Reading = tuple[str, Array, dict[str, Scalar]]
_Of = Callable[[str], Array]
STEP = 15e6
"""Clocks move in steps of so many Hz."""
WARMS_SECONDS = 25.0
"""How slowly a device's temperature follows its power."""
CONTEXT_BYTES = 0.6 * 2.0**30
REASONS = (
    "idle", "clocks_setting", "power_cap", "slowdown_hw", "sync_boost", "thermal_sw", "thermal_hw",
    "power_brake",
)  # fmt: skip
FOREIGN_PID = 48_213
"""A process on a device that is none of any job's."""


@dataclass(frozen=True, slots=True)
class DeviceMoments:
    """One device at the moments of its readings: `kernel` and `math` are shares of time."""

    at: Array
    kernel: Array
    math: Array
    processes: list[memory.DeviceMemory]
    random: np.random.Generator


class ModelReadings:
    """The readings of devices of one model, taken every so many seconds.

    `parts` are the memories whose errors are told apart.
    """

    def __init__(
        self,
        model: AcceleratorModel,
        cluster: SimulatedCluster,
        *,
        every: float,
        parts: tuple[str, ...],
    ) -> None:
        self._model, self._cluster, self._every, self._parts = model, cluster, every, parts

    def of(
        self, host: int, slot: int, history: ConditionHistory, seen: DeviceMoments
    ) -> Iterator[Reading]:
        random, model, size = seen.random, self._model, len(seen.at)

        def of(name: str) -> Array:
            values: Array = history.of("devices", name)[:, slot].astype(float)
            return values

        foreign = of("foreign")
        kernel = np.clip(seen.kernel + foreign, 0, 1)
        math = np.clip(seen.math * (1 - foreign) + 0.8 * foreign, 0, 1)
        clock: Array = history.one("clock")[:, slot].astype(float)
        heat: Array = history.one("heat")[:, slot].astype(float)
        nominal, watts, name = model.clock, model.limit, model.name
        if model.vendor == "nvidia":
            nominal, watts = self._cluster.model(host)
            name = devices.nvidia_name((nominal, watts))
        idle = kernel < 0.02
        drawn = devices.power(clock, math, kernel, of("efficiency"), model.idle_watts / model.limit)
        drawn = drawn * (1 + 0.012 * random.standard_normal(size))
        limit = np.minimum(of("limit"), 1.0)
        drawn = np.minimum(drawn, limit * 1.01)
        rise = (
            devices.INLET_CELSIUS
            + of("inlet")
            + heat
            + devices.RISE_CELSIUS * (of("cooling") * _lagged(drawn, self._every))
        )
        protected = (of("thermal_sw") + of("thermal_hw") > 0) & ~idle
        rise = np.where(protected, np.maximum(rise, 84.0), np.minimum(rise, 96.0))
        rise = rise + 0.5 * random.standard_normal(size)
        jitter = 1 - np.abs(random.standard_normal(size)) * 0.006
        frequency = np.where(idle, model.idle_clock, nominal * clock * jitter)
        yield "hw.gpu.info", np.ones(size), {"hw.model": name}
        yield "hw.gpu.utilization", np.minimum(kernel * 1.02, 1), {}
        yield "hw.gpu.graphics.activity", kernel, {}
        yield "hw.gpu.memory.copy.utilization", np.clip(0.6 * math, 0, 1), {}
        yield "hw.gpu.sm.activity", np.clip(0.85 * math + 0.1 * kernel, 0, 1), {}
        yield "hw.gpu.tensor.activity", np.clip(0.45 * math * clock, 0, 1), {}
        yield "hw.gpu.memory.activity", np.clip(0.5 * math + 0.05 * kernel, 0, 1), {}
        held = of("foreign_bytes") + CONTEXT_BYTES
        for process in seen.processes:
            held = held + np.nan_to_num(process.held)
        yield "hw.gpu.memory.usage", np.minimum(held, model.memory), {}
        yield "hw.gpu.memory.limit", np.full(size, model.memory), {}
        yield "hw.power", drawn * watts, {}
        yield "hw.power.limit", np.round(limit * watts), {}
        base = float(random.uniform(1e7, 1e9))
        yield "hw.energy", base + np.cumsum(drawn * watts * self._every), {}
        yield "hw.temperature", rise, {"hw.sensor": "gpu"}
        yield "hw.temperature", rise + 7 + 2 * math, {"hw.sensor": "memory"}
        yield "hw.temperature.limit", np.full(size, 87.0), {"limit": "slowdown"}
        yield "hw.temperature.limit", np.full(size, 92.0), {"limit": "shutdown"}
        yield "hw.frequency", np.round(frequency / STEP) * STEP, {"domain": "sm"}
        yield "hw.frequency", np.full(size, model.memory_clock), {"domain": "memory"}
        yield "hw.frequency.limit", np.full(size, nominal), {"domain": "sm"}
        yield from self._held(of, drawn / limit, idle, random)
        yield from self._errors(of, random)
        yield from self._bus(of, idle, kernel, random)
        yield from self._links(of, kernel, random)
        yield from self._processes(seen, of("foreign_bytes"))

    def _held(
        self, of: _Of, load: Array, idle: Flags, random: np.random.Generator
    ) -> Iterator[Reading]:
        """Yield what holds the clocks down; a power cap comes and goes at full load."""
        size = len(idle)
        flicker = (load > 0.93) & (random.random(size) < 0.5)
        working = ~idle
        active = {
            "idle": idle,
            "clocks_setting": (of("lock") < 1) & working,
            "power_cap": working & ((of("capped") > 0) & (random.random(size) < 0.9) | flicker),
            "thermal_sw": working & (of("thermal_sw") > 0),
            "thermal_hw": working & (of("thermal_hw") > 0),
            "power_brake": working & (of("brake") > 0),
        }
        active["slowdown_hw"] = active["thermal_hw"] | active["power_brake"]
        for reason in REASONS:
            value = active.get(reason, np.zeros(size, dtype=bool)).astype(float)
            yield "hw.gpu.throttle", value, {"reason": reason}
        for reason in ("power_cap", "thermal_sw"):
            seconds = np.cumsum(active[reason].astype(float)) * self._every * 0.8
            yield "hw.gpu.throttle.duration", seconds, {"reason": reason}
        hot = active["thermal_hw"] | active["thermal_sw"]
        for reason, flag in (("thermal_hw", hot), ("power_cap", active["power_cap"])):
            share = np.where(flag, np.clip(random.normal(0.85, 0.1, size), 0, 1), 0.0)
            yield "hw.gpu.throttle.share", share, {"reason": reason}

    def _errors(self, of: _Of, random: np.random.Generator) -> Iterator[Reading]:
        """Yield memory errors and what came of them, counted since the driver was loaded."""
        corrected = int(random.poisson(0.5)) + np.cumsum(
            random.poisson(of("corrected") * self._every)
        )
        counts = {
            ("corrected", "hbm"): corrected.astype(float),
            ("uncorrected", "hbm"): of("uncorrected"),
            ("corrected", "sram"): np.zeros(len(corrected)),
            ("uncorrected", "sram"): np.zeros(len(corrected)),
        }
        for (error, part), value in counts.items():
            if part in self._parts:
                yield "hw.errors", value, {"error.type": error, "hw.part": part}
        yield "hw.gpu.row_remap", of("pending"), {"state": "pending"}
        yield "hw.gpu.row_remap", of("failed"), {"state": "failed"}
        yield "hw.gpu.row_remaps", np.zeros(len(corrected)), {"error.type": "corrected"}
        yield "hw.gpu.row_remaps", of("remapped"), {"error.type": "uncorrected"}
        yield "hw.gpu.retired_pages", of("remapped"), {"error.type": "uncorrected"}

    def _bus(
        self, of: _Of, idle: Flags, kernel: Array, random: np.random.Generator
    ) -> Iterator[Reading]:
        """Yield the PCIe link; an idle one rests at generation 1."""
        model, size = self._model, len(idle)
        best = np.full(size, float(model.generation))
        generation = np.maximum(best - of("generation"), 1)
        if self._cluster.links_rest:
            generation = np.where(idle, 1.0, generation)
        width = np.full(size, float(model.width))
        yield "hw.gpu.pcie.width", np.maximum(np.round(width * of("lanes")), 1), {}
        yield "hw.gpu.pcie.width.max", width, {}
        yield "hw.gpu.pcie.generation", generation, {}
        yield "hw.gpu.pcie.generation.max", best, {}
        replays = int(random.poisson(0.4)) + np.cumsum(random.poisson(of("replays") * self._every))
        yield "hw.gpu.pcie.replays", replays.astype(float), {}
        for direction, rate in (("receive", 2.2e9), ("transmit", 1.4e9)):
            moved = np.cumsum(rate * kernel * self._every * random.uniform(0.95, 1.05, size))
            yield "hw.gpu.pcie.io", moved, {"direction": direction}

    def _links(self, of: _Of, kernel: Array, random: np.random.Generator) -> Iterator[Reading]:
        """Yield the links to neighbours on the host; the first ones are those that suffer."""
        size, down, errors = len(kernel), of("links_down"), of("link_errors")
        for link in range(self._model.links):
            yield "hw.gpu.nvlink.up", (link >= down).astype(float), {"link": str(link)}
            rate = errors if link == int(down.max()) % self._model.links else np.zeros(size)
            recoveries = np.cumsum(np.diff((link < down).astype(float), prepend=0) > 0)
            counts = {
                "crc": np.cumsum(random.poisson(rate * self._every)),
                "replay": np.cumsum(random.poisson(0.6 * rate * self._every)),
                "recovery": recoveries,
            }
            for error, value in counts.items():
                pairs: dict[str, Scalar] = {"link": str(link), "error.type": error}
                yield "hw.gpu.nvlink.errors", value.astype(float), pairs
        rate = 6e10 * kernel * of("link_width")
        for direction in ("receive", "transmit"):
            moved = np.cumsum(rate * self._every)
            yield "hw.gpu.nvlink.io", moved, {"direction": direction}
        yield "hw.gpu.nvlink.throughput", 2 * rate, {}

    def _processes(self, seen: DeviceMoments, foreign: Array) -> Iterator[Reading]:
        """Yield the memory of each process on the device; NaN marks when it is not there."""
        count = (foreign > 0).astype(float)
        for process in seen.processes:
            count = count + ~np.isnan(process.held)
            pairs: dict[str, Scalar] = {"pid": process.pid, "rank": process.rank}
            yield "hw.gpu.process.memory", process.held, pairs
        if foreign.any():
            value = np.where(foreign > 0, foreign, np.nan)
            yield "hw.gpu.process.memory", value, {"pid": FOREIGN_PID}
        yield "hw.gpu.processes", count, {}


def _lagged(value: Array, every: float) -> Array:
    """Return a value as something slow follows it: first order, WARMS_SECONDS."""
    share = 1 - np.exp(-every / WARMS_SECONDS)
    found, level = np.empty(len(value)), float(value[0]) if len(value) else 0.0
    for number, one in enumerate(value.tolist()):
        level += share * (one - level)
        found[number] = level
    return found
