"""The series of every device: activity, clock, power, temperature, links, errors, processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, attributes
from .. import devices, memory
from ..devices import MODELS
from ..placement import device_id, device_index
from ..site import History, Site
from ..training import Attempt
from . import Series, exporters
from .readings import used
from .resources import of_job, of_node

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Reading = tuple[str, Array, dict[str, Scalar]]
STEP = 15e6
"""Clocks move in steps of so many Hz."""
WARMS_SECONDS = 25.0
"""How slowly a device's temperature follows its power."""
INFO_SECONDS = 60.0
ERRORS_SECONDS = 15.0
"""NVLink errors are read so often, by our agent."""
CONTEXT_BYTES = 0.6 * 2.0**30
REASONS = (
    "idle", "clocks_setting", "power_cap", "slowdown_hw", "sync_boost", "thermal_sw", "thermal_hw",
    "power_brake",
)  # fmt: skip
_Of = Callable[[str], Array]
Status = Mapping[str, Sequence[tuple[float, str]]]
"""By hw.id: (when, what), ascending."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """One device at the moments of its readings: `kernel` and `math` are shares of time."""

    at: Array
    kernel: Array
    math: Array
    processes: list[memory.OnDevice]
    random: np.random.Generator


class Devices:
    """The device series of a recording."""

    def __init__(
        self, attempts: Sequence[Attempt], site: Site, *, status: Status, codes: Status
    ) -> None:
        """Prepare for these attempts on this site.

        `status` is what the agent concluded, `codes` are the fault codes that it received.
        """
        self._attempts, self._site = attempts, site
        self._cluster, self._reporting = site.cluster, site.reporting
        self._status, self._codes = status, codes
        self._model = MODELS[site.cluster.accelerator]
        self._reader = exporters.reader(site.cluster, site.reporting)
        self._habits = exporters.HABITS[self._reader]
        self._every = exporters.period(site.cluster, site.reporting)
        self._found: list[Series] = []

    def series(self) -> list[Series]:
        """Return all of them."""
        if not self._cluster.gpus:
            return []
        for host in range(self._cluster.hosts):
            history = self._site.history(host, self._every)
            if not len(history.at):
                continue
            gone = np.zeros(len(history.at))
            for place in range(self._cluster.slots):
                gone += self._device(host, place, history)
            self._count(host, history.at, gone)
        return self._found

    def _count(self, host: int, at: Array, gone: Array) -> None:
        """Add how many devices answer; an exporter counts those that are there."""
        answering = self._cluster.slots - gone
        states = {"present": answering}
        if self._reader == "agent":
            states = {"answering": answering, "failed": gone, "present": answering}
        elif self._reader == "ascend":
            states = {"present": np.full(len(at), float(self._cluster.slots)), "failed": gone}
        if not self._shown("hw.gpu.count"):
            return
        for state, value in states.items():
            named = attributes({"hw.vendor": self._model.vendor, "state": state})
            resource = of_node(host, self._cluster.name)
            self._found.append(Series(host, resource, "hw.gpu.count", named, at, value))

    def _shown(self, metric: str) -> bool:
        return metric in self._habits.metrics and self._reporting.shows(metric)

    def _device(self, host: int, place: int, history: History) -> Array:
        """Add the series of a device; return 1 where it does not answer."""
        slot = device_index(host, place, self._cluster.slots)
        lost: Flags = history.of("devices", "lost")[:, slot].astype(bool)
        hung: Flags = history.of("devices", "hung")[:, slot].astype(bool)
        hung = hung | history.of("nodes", "driver")[:, host].astype(bool)
        silent = lost | hung
        seen = self._activity(slot, history, silent)
        for metric, value, pairs in self._readings(host, slot, history, seen):
            if not self._shown(metric):
                continue
            only = self._habits.only.get(metric)
            if only is not None and not any(value in only for value in pairs.values()):
                continue
            step = self._habits.metrics[metric]
            value = np.round(value / step) * step if step else value
            every = {"hw.gpu.info": INFO_SECONDS, "hw.gpu.nvlink.errors": ERRORS_SECONDS}
            thin = max(round(every.get(metric, 0.0) / self._every), 1)
            keep = ~silent & (np.arange(len(value)) % thin == 0)
            self._deliver((host, place), metric, pairs, history.at[keep], value[keep])
        self._state(host, place, history.at, lost, silent)
        self._faults(host, place, history.at)
        return silent.astype(float)

    def _state(self, host: int, place: int, at: Array, lost: Flags, silent: Flags) -> None:
        """Add the device's state: of the agent by its open faults, of an exporter by its own."""
        if not self._reporting.shows("hw.status"):
            return
        if self._reader == "agent":
            since = self._status.get(device_id(host, place), ())
            number = np.searchsorted([row[0] for row in since], at, side="right")
            states = np.array(["ok", *(row[1] for row in since)])[number]
            shown = np.ones(len(at), dtype=bool)
        elif self._habits.status:
            states, shown = np.where(silent, "failed", "ok"), ~lost | (self._reader == "ascend")
        else:
            return
        for state in np.unique(states[shown]).tolist():
            keep = shown & (states == state)
            pairs: dict[str, Scalar] = {"hw.state": state}
            self._deliver((host, place), "hw.status", pairs, at[keep], np.ones(int(keep.sum())))

    def _faults(self, host: int, place: int, at: Array) -> None:
        """Add the fault codes: counted by our agent, the last one by dcgm-exporter (0: none)."""
        known = self._codes.get(device_id(host, place), ())
        times = np.array([moment for moment, _ in known])
        names = np.array([code for _, code in known])
        if self._reader == "agent" and self._reporting.shows("hw.gpu.faults"):
            for code in dict.fromkeys(names.tolist()):
                count = np.searchsorted(times[names == code], at, side="right").astype(float)
                keep = count > 0
                self._deliver((host, place), "hw.gpu.faults", {"code": code}, at[keep], count[keep])
        if self._reader == "dcgm" and self._reporting.shows("hw.gpu.fault.last"):
            xids = np.array([0.0, *(float(one) for one in names.tolist() if one.isdecimal())])
            since = times[[one.isdecimal() for one in names.tolist()]] if len(names) else times
            last = xids[np.searchsorted(since, at, side="right")]
            self._deliver((host, place), "hw.gpu.fault.last", {}, at, last)

    def _readings(self, host: int, slot: int, history: History, seen: _Seen) -> Iterator[Reading]:
        """Yield what there is to read of a device, by any exporter."""
        random, model, size = seen.random, self._model, len(seen.at)

        def of(name: str) -> Array:
            values: Array = history.of("devices", name)[:, slot].astype(float)
            return values

        foreign = of("foreign")
        kernel = np.clip(seen.kernel + foreign, 0, 1)
        math = np.clip(seen.math * (1 - foreign) + 0.8 * foreign, 0, 1)
        clock: Array = history.one("clock")[:, slot].astype(float)
        heat: Array = history.one("heat")[:, slot].astype(float)
        nominal, watts = (model.clock, model.limit)
        if model.vendor == "nvidia":
            nominal, watts = self._cluster.model(host)
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
        yield "hw.gpu.info", np.ones(size), {"hw.model": model.name}
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
            if part in self._habits.parts:
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

    def _processes(self, seen: _Seen, foreign: Array) -> Iterator[Reading]:
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

    def _deliver(
        self, place: tuple[int, int], metric: str, pairs: dict[str, Scalar], at: Array, value: Array
    ) -> None:
        """Add a reading under the job and rank on the device at the time, or under the node."""
        host, slot = place[0], device_index(*place, self._cluster.slots)
        there = ~np.isnan(value)
        at, value = at[there], value[there]
        who: dict[str, Scalar] = {
            "hw.id": device_id(*place), "gpu": place[1], "hw.vendor": self._model.vendor, **pairs,
        }  # fmt: skip
        free = np.ones(len(at), dtype=bool)
        if self._reporting.attributed and self._reader == "agent":
            for attempt in self._attempts:
                for rank in np.flatnonzero(attempt.seats.slot == slot).tolist():
                    on = (at >= attempt.born + 2.0) & (at < attempt.died[rank])
                    free &= ~on
                    if on.any():
                        resource = of_job(attempt, host, self._cluster.name)
                        # A process that is none of the job's ranks stays without one.
                        named = attributes(who if "pid" in pairs else {**who, "rank": rank})
                        self._found.append(Series(host, resource, metric, named, at[on], value[on]))
        elif "rank" in who:
            del who["rank"]
        if free.any():
            resource = of_node(host, self._cluster.name)
            self._found.append(
                Series(host, resource, metric, attributes(who), at[free], value[free])
            )

    def _activity(self, slot: int, history: History, silent: Flags) -> _Seen:
        """Return the shares of time with a kernel and with arithmetic, and who is on the device."""
        at, states = history.at, history.states
        every, random = self._every, np.random.default_rng([self._site.seed, 14, slot])
        kernel, math = np.zeros(len(at)), np.zeros(len(at))
        processes: list[memory.OnDevice] = []
        for attempt in self._attempts:
            for rank in np.flatnonzero(attempt.seats.slot == slot).tolist():
                edges = np.array([row[rank] for row in attempt.segments.edge])
                rows = attempt.segments
                ran = np.array([row[rank] for row in rows.kernel])
                worked = np.array([row[rank] for row in rows.math])
                on = (at >= attempt.born) & (at < attempt.died[rank])
                processes += memory.on_device(attempt, rank, at, states)
                kernel += on * (used(edges, ran, at) - used(edges, ran, at - every)) / every
                math += on * (used(edges, worked, at) - used(edges, worked, at - every)) / every
        kernel = np.where(silent, 0.0, np.clip(kernel, 0, 1))
        return _Seen(at, kernel, np.clip(math, 0, 1), processes, random)


FOREIGN_PID = 48_213
"""A process on a device that is none of any job's."""


def _lagged(value: Array, every: float) -> Array:
    """Return a value as something slow follows it: first order, WARMS_SECONDS."""
    share = 1 - np.exp(-every / WARMS_SECONDS)
    found, level = np.empty(len(value)), float(value[0]) if len(value) else 0.0
    for number, one in enumerate(value.tolist()):
        level += share * (one - level)
        found[number] = level
    return found
