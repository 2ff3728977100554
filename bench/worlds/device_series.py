"""What exporters read of devices: load, power, clocks, temperature, memory, errors, links."""

from collections.abc import Iterator, Sequence

import numpy as np

from .activity import RankActivity
from .effects import Scalar
from .exporters import HostExporter
from .series import MetricSeries
from .situation import CaseSituation

_REASONS = (
    "thermal_hw",
    "thermal_sw",
    "power_brake",
    "power_cap",
    "slowdown_hw",
    "clocks_setting",
    "idle",
)
_WINDOW = 2.0
"""Seconds over which load is averaged by the driver."""


def reported(
    case: CaseSituation, activity: RankActivity, exporters: Sequence[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield the series of the device of every rank, as long as the case lasts."""
    rng = case.plan.rng("devices")
    cap = case.habit("moving_power_cap") or 0.0
    tensor = float(rng.uniform(0.35, 0.6))
    intensity = float(rng.uniform(0.72, 1.0))
    warm = case.habit("warm_rack") or 0.0
    hall = float(rng.normal(0.0, 2.0))
    attached = bool(rng.random() < 0.6)
    parked = bool(rng.random() < 0.5)
    for place in case.layout.ranks:
        exporter = exporters[place.host]
        draw = intensity * float(rng.normal(1.0, 0.012))
        maker = _DeviceReader(case, place.rank, exporter, draw, attached=attached)
        above = warm * (place.host % 4) / 3.0 + hall
        yield from maker.load(activity, tensor, rng, parked=parked)
        yield from maker.electric(activity, cap, above, bool(case.older[place.host]), rng)
        yield from maker.memory(rng)
        yield from maker.health(rng)


class _DeviceReader:
    """The readings of one device."""

    def __init__(
        self,
        case: CaseSituation,
        rank: int,
        exporter: HostExporter,
        draw: float,
        *,
        attached: bool,
    ) -> None:
        place = case.layout.ranks[rank]
        self._case, self._place, self._device = case, place, case.plan.device
        self._exporter, self._draw = exporter, draw
        self._ticks = exporter.ticks(case.begin, case.end)
        self._slow = exporter.ticks(case.begin, case.end)[:: max(1, int(30.0 / exporter.cadence))]
        self._labels: dict[str, Scalar] = {
            "hw.id": place.gpu, "gpu": place.local, "hw.vendor": "nvidia",
        }  # fmt: skip
        if attached:
            self._labels["rank"] = rank

    def load(
        self, activity: RankActivity, tensor: float, rng: np.random.Generator, *, parked: bool
    ) -> Iterator[MetricSeries]:
        """Yield utilisation, activities and the throttle reason `idle`."""
        compute, comm = activity.shares(self._place.rank, self._ticks, _WINDOW)
        busy = np.minimum(1.0, compute + comm)
        noise = rng.normal(0.0, 0.01, (3, len(busy)))
        yield self._one("hw.gpu.utilization", np.clip(np.round(busy + noise[0] * busy, 2), 0, 1))
        yield self._one(
            "hw.gpu.sm.activity", np.clip(0.82 * compute + 0.12 * comm + noise[1] * busy, 0, 1)
        )
        yield self._one(
            "hw.gpu.tensor.activity", np.clip(tensor * compute + 0.3 * noise[2] * busy, 0, 1)
        )
        yield self._one("hw.gpu.memory.activity", np.clip(0.45 * compute + 0.1 * comm, 0, 1))
        clock = np.where(busy > 0.02, self._device.clock, 345.0 if parked else self._device.clock)
        # The nearer the kernels come to the limit of power, the more often it holds clocks down.
        near = min(1.0, max(0.0, (self._draw - 0.88) / 0.1))
        capped = (compute > 0.5) & (rng.random(len(busy)) < 0.8 * near)
        clock = clock - capped * 15.0 * rng.integers(1, 7, len(busy))
        yield self._one("hw.frequency", clock * 1e6, of={"domain": "sm"})
        memory = np.full(len(self._slow), self._device.memory_clock * 1e6)
        yield self._rare("hw.frequency", memory, of={"domain": "memory"})
        for reason in _REASONS:
            active = {"power_cap": capped, "idle": busy < 0.02}.get(reason)
            values = np.zeros(len(busy)) if active is None else active.astype(float)
            yield self._one("hw.gpu.throttle", values, of={"reason": reason})
        seldom = self._case.habit("idle_pcie")
        generation = np.where(busy < 0.2, 1.0, float(self._device.generation))
        every = max(1, int(seldom / self._exporter.cadence)) if seldom else 1
        yield self._at("hw.gpu.pcie.generation", self._ticks[::every], generation[::every])

    def electric(
        self,
        activity: RankActivity,
        cap: float,
        above: float,
        older: bool,  # noqa: FBT001 - one of a host's properties, by position like the others
        rng: np.random.Generator,
    ) -> Iterator[MetricSeries]:
        """Yield power, its limit, energy and temperatures."""
        compute, comm = activity.shares(self._place.rank, self._ticks, _WINDOW)
        slow_compute, slow_comm = activity.shares(self._place.rank, self._ticks, 60.0)
        device = self._device
        limit = device.power * (0.92 if older else 1.0)
        moved = limit * (1.0 - cap * (0.5 + 0.5 * np.sin((self._ticks - self._case.begin) / 170.0)))
        draw = self._draw
        span = limit - device.idle
        power = device.idle + span * (draw * compute + 0.36 * comm)
        power = np.minimum(power * (1.0 + rng.normal(0.0, 0.015, len(power))), moved)
        yield self._one("hw.power", power)
        yield self._one("hw.power.limit", moved)
        step = np.diff(self._ticks, prepend=self._ticks[:1] - self._exporter.cadence)
        energy = 4.2e8 + np.cumsum(power * step)
        yield self._one("hw.energy", energy, start=self._case.begin - 86_400.0)
        mean = draw * slow_compute + 0.36 * slow_comm
        offset = float(rng.normal(0.0, 1.8)) + above
        heat = 34.0 + offset + 27.0 * mean + rng.normal(0.0, 0.4, len(power))
        yield self._one("hw.temperature", np.round(heat), of={"hw.sensor": "gpu"})
        yield self._one("hw.temperature", np.round(heat + 9.0), of={"hw.sensor": "memory"})

    def memory(self, rng: np.random.Generator) -> Iterator[MetricSeries]:
        """Yield the device's memory and that of the rank's process."""
        limit = self._device.memory * 2.0**30
        share = 0.6 + 0.3 * (self._case.begin % 97.0) / 97.0 + float(rng.normal(0.0, 0.004))
        since = self._ticks - self._case.first_step_at
        used = limit * share * np.where(since < 0.0, 0.12, np.minimum(1.0, 0.8 + since / 100.0))
        yield self._one("hw.gpu.memory.usage", used + 5.5e8)
        yield self._one("hw.gpu.process.memory", used, of={"pid": self._place.pid})
        yield self._rare("hw.gpu.memory.limit", np.full(len(self._slow), limit))

    def health(self, rng: np.random.Generator) -> Iterator[MetricSeries]:
        """Yield errors, links, remaps and limits: what seldom changes."""
        case, count = self._case, len(self._slow)
        usual = (case.habit("corrected_errors") or 0.0) * (rng.random() < 0.15)
        start = case.begin - 86_400.0
        step = np.diff(self._slow, prepend=self._slow[:1])
        errors = np.cumsum(rng.poisson(usual * step / 3600.0)).astype(float)
        for kind, part, values in (
            ("corrected", "hbm", errors),
            ("uncorrected", "hbm", np.zeros(count)),
            ("uncorrected", "sram", np.zeros(count)),
        ):
            more: dict[str, Scalar] = {"error.type": kind, "hw.part": part}
            yield self._rare("hw.errors", values, start=start, of=more)
        replays = np.cumsum(rng.poisson(usual * step / 20_000.0)).astype(float)
        yield self._rare("hw.gpu.pcie.replays", replays, start=start)
        for state in ("pending", "failed"):
            yield self._rare("hw.gpu.row_remap", np.zeros(count), of={"state": state})
        full = np.full(count, float(self._device.generation))
        yield self._rare("hw.gpu.pcie.generation.max", full)
        yield self._rare("hw.gpu.pcie.width", np.full(count, 16.0))
        yield self._rare("hw.gpu.pcie.width.max", np.full(count, 16.0))
        yield self._rare(
            "hw.frequency.limit", np.full(count, self._device.clock * 1e6), of={"domain": "sm"}
        )
        for link in range(0, self._device.links, 6):
            yield self._rare("hw.gpu.nvlink.up", np.ones(count), of={"link": link})
            more = {"link": link, "error.type": "crc"}
            yield self._rare("hw.gpu.nvlink.errors", np.zeros(count), start=start, of=more)

    def _one(
        self,
        metric: str,
        values: np.ndarray,
        start: float | None = None,
        of: dict[str, Scalar] | None = None,
    ) -> MetricSeries:
        return self._at(metric, self._ticks, values, start, of)

    def _rare(
        self,
        metric: str,
        values: np.ndarray,
        start: float | None = None,
        of: dict[str, Scalar] | None = None,
    ) -> MetricSeries:
        return self._at(metric, self._slow, values, start, of)

    def _at(
        self,
        metric: str,
        ticks: np.ndarray,
        values: np.ndarray,
        start: float | None = None,
        of: dict[str, Scalar] | None = None,
    ) -> MetricSeries:
        labels = self._labels | (of or {})
        return MetricSeries(
            metric, self._place.host, "device", labels, ticks, values.astype(float), None, start
        )
