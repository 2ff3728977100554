"""The series of every device: activity, clock, power, temperature, what holds it back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, attributes
from .. import memory
from ..conditions import Conditions
from ..placement import device_id, device_index
from ..site import Site
from ..training import Attempt
from . import Series
from .readings import ticks, used
from .resources import of_job, of_node

Array = NDArray[np.float64]
Reading = tuple[str, Array, dict[str, Scalar]]
IDLE, STEP = 345e6, 15e6
"""Clock of an idle device in Hz; clocks move in steps."""
LIMIT = 80 * 2.0**30


class Devices:
    """The device series of a recording."""

    def __init__(self, attempts: Sequence[Attempt], site: Site) -> None:
        """Prepare for these attempts on this site."""
        self._attempts, self._cluster, self._reporting = attempts, site.cluster, site.reporting
        self._seconds, self._phases = site.seconds, site.phases
        self._conditions, self._seed = site.conditions, site.seed
        self._found: list[Series] = []

    def series(self) -> list[Series]:
        """Return all of them."""
        if not self._cluster.gpus:
            return []
        for host in range(self._cluster.hosts):
            at = ticks(0.0, self._seconds, self._reporting.node, float(self._phases[host]))
            states = [self._conditions(float(moment)) for moment in at]
            alive = np.array([not state.silent[host] for state in states], dtype=bool)
            kept = [state for state in states if not state.silent[host]]
            for place in range(self._cluster.slots):
                self._device(host, place, at[alive], kept)
        return self._found

    def _device(self, host: int, place: int, at: Array, states: Sequence[Conditions]) -> None:
        slot = device_index(host, place, self._cluster.slots)
        random = np.random.default_rng([self._seed, 14, slot])
        kernel, math = self._activity(slot, at)
        noise = random.standard_normal
        clock = np.array([state.clock[slot] for state in states])
        heat = np.array([state.heat[slot] for state in states])
        thermal = np.array([state.thermal[slot] for state in states])
        nominal, limit = self._cluster.model(host)
        idle = kernel < 0.02
        frequency = np.where(idle, IDLE, nominal * clock * (1 - np.abs(noise(len(at))) * 0.006))
        # Power goes with the arithmetic and about the square of the clock; a spinning collective
        # kernel keeps a device "utilised" at a fraction of it.
        power = 75 + 90 * kernel + (limit - 165) * math * clock**2 * (1 + 0.02 * noise(len(at)))
        capped = (power > 0.93 * limit) & (random.random(len(at)) < 0.5)
        temperature = 31 + 38 * power / limit + heat + 0.5 * noise(len(at)) + slot % 5
        held = 0.6 * 2.0**30 + memory.on_device(self._attempts, slot, at, states)
        held = held.round()
        readings: list[Reading] = [
            ("hw.gpu.utilization", np.minimum(kernel * 1.02, 1).round(2), {}),
            ("hw.gpu.sm.activity", np.clip(0.85 * math + 0.1 * kernel, 0, 1), {}),
            ("hw.gpu.tensor.activity", np.clip(0.45 * math * clock, 0, 1), {}),
            ("hw.gpu.memory.usage", held, {}),
            ("hw.gpu.memory.limit", np.full(len(at), LIMIT), {}),
            ("hw.power", np.minimum(power, limit).round(1), {}),
            ("hw.power.limit", np.full(len(at), limit), {}),
            ("hw.temperature", np.round(temperature), {"hw.sensor": "gpu"}),
            ("hw.frequency", np.round(frequency / STEP) * STEP, {"domain": "sm"}),
            ("hw.gpu.throttle", thermal.astype(float), {"reason": "thermal_hw"}),
            ("hw.gpu.throttle", capped.astype(float), {"reason": "power_cap"}),
            ("hw.gpu.throttle", idle.astype(float), {"reason": "idle"}),
        ]
        for reading in readings:
            if self._reporting.shows(reading[0]):
                self._deliver((host, place), reading, at)

    def _deliver(self, place: tuple[int, int], reading: Reading, at: Array) -> None:
        """Add a reading under the job and rank on the device at the time, or under the node."""
        host, (metric, value, pairs) = place[0], reading
        slot = device_index(*place, self._cluster.slots)
        who = {"hw.id": device_id(*place), "gpu": str(place[1]), **pairs}
        free = np.ones(len(at), dtype=bool)
        if self._reporting.attributed:
            for attempt in self._attempts:
                for rank in np.flatnonzero(attempt.seats.slot == slot).tolist():
                    on = (at >= attempt.born + 2.0) & (at < attempt.died[rank])
                    free &= ~on
                    if on.any():
                        resource = of_job(attempt, host, self._cluster.name)
                        named = attributes({**who, "rank": rank})
                        self._found.append(Series(host, resource, metric, named, at[on], value[on]))
        if free.any():
            resource = of_node(host, self._cluster.name)
            self._found.append(
                Series(host, resource, metric, attributes(who), at[free], value[free])
            )

    def _activity(self, slot: int, at: Array) -> tuple[Array, Array]:
        """Return the shares of time with a kernel and with arithmetic."""
        every = self._reporting.node
        kernel, math = np.zeros(len(at)), np.zeros(len(at))
        for attempt in self._attempts:
            for rank in np.flatnonzero(attempt.seats.slot == slot).tolist():
                edges = np.array([row[rank] for row in attempt.segments.edge])
                rows = attempt.segments
                ran = np.array([row[rank] for row in rows.kernel])
                worked = np.array([row[rank] for row in rows.math])
                on = (at >= attempt.born) & (at < attempt.died[rank])
                kernel += on * (used(edges, ran, at) - used(edges, ran, at - every)) / every
                math += on * (used(edges, worked, at) - used(edges, worked, at - every)) / every
        return np.clip(kernel, 0, 1), np.clip(math, 0, 1)
