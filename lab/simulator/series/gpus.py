"""The series of every device: activity, clock, power, temperature, links, errors, processes."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, attributes
from .. import memory
from ..devices import MODELS
from ..placement import device_id, device_index
from ..site import ConditionHistory, SimulatedSite
from ..training import SimulatedAttempt
from . import SimulatedSeries, exporters
from .gpu_readings import DeviceMoments, ModelReadings
from .readings import used
from .resources import of_job, of_node

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
INFO_SECONDS = 60.0
ERRORS_SECONDS = 15.0
"""NVLink errors are read so often, by our agent."""
Status = Mapping[str, Sequence[tuple[float, str]]]
"""By hw.id: (when, what), ascending."""


class DeviceSeries:
    """The device series of a recording."""

    def __init__(
        self,
        attempts: Sequence[SimulatedAttempt],
        site: SimulatedSite,
        *,
        status: Status,
        codes: Status,
    ) -> None:
        """Prepare for these attempts on this site.

        `status` is what the agent concluded, `codes` are the fault codes that it received.
        """
        self._attempts, self._site = attempts, site
        self._cluster, self._reporting = site.cluster, site.reporting
        self._status, self._codes = status, codes
        self._model = MODELS[site.cluster.accelerator]
        self._reader = exporters.reader(site.cluster, site.reporting)
        self._habits = exporters.habits()[self._reader]
        self._every = exporters.period(site.cluster, site.reporting)
        self._readings = ModelReadings(
            self._model, site.cluster, every=self._every, parts=self._habits.parts
        )
        self._found: list[SimulatedSeries] = []

    def series(self) -> list[SimulatedSeries]:
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
            self._found.append(SimulatedSeries(host, resource, "hw.gpu.count", named, at, value))

    def _shown(self, metric: str) -> bool:
        return metric in self._habits.metrics and self._reporting.shows(metric)

    def _device(self, host: int, place: int, history: ConditionHistory) -> Array:
        """Add the series of a device; return 1 where it does not answer."""
        slot = device_index(host, place, self._cluster.slots)
        lost: Flags = history.of("devices", "lost")[:, slot].astype(bool)
        hung: Flags = history.of("devices", "hung")[:, slot].astype(bool)
        hung = hung | history.of("nodes", "driver")[:, host].astype(bool)
        silent = lost | hung
        seen = self._activity(slot, history, silent)
        for metric, value, pairs in self._readings.of(host, slot, history, seen):
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
                        self._found.append(
                            SimulatedSeries(host, resource, metric, named, at[on], value[on])
                        )
        elif "rank" in who:
            del who["rank"]
        if free.any():
            resource = of_node(host, self._cluster.name)
            self._found.append(
                SimulatedSeries(host, resource, metric, attributes(who), at[free], value[free])
            )

    def _activity(self, slot: int, history: ConditionHistory, silent: Flags) -> DeviceMoments:
        """Return the shares of time with a kernel and with arithmetic, and who is on the device."""
        at, states = history.at, history.states
        every, random = self._every, np.random.default_rng([self._site.seed, 14, slot])
        kernel, math = np.zeros(len(at)), np.zeros(len(at))
        processes: list[memory.DeviceMemory] = []
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
        return DeviceMoments(at, kernel, np.clip(math, 0, 1), processes, random)
