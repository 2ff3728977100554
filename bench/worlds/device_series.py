"""What exporters read of devices: power, clocks and heat follow what the rank's kernels do."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import readings
from .activity import RankActivity
from .cluster import RankPlace
from .effects import Scalar
from .exporters import HostExporter
from .readings import ReadingTarget
from .series import MetricSeries
from .situation import CaseSituation

_WINDOW = 2.0
"""Seconds over which load is averaged by the driver."""


def reported(
    case: CaseSituation, activity: RankActivity, exporters: Sequence[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield the series of the device of every rank, as long as the case lasts."""
    rng, device = case.plan.rng("devices"), case.plan.device
    shared: dict[str, Any] = {
        "tensor": float(rng.uniform(0.35, 0.6)),
        "draw": float(rng.uniform(0.72, 1.0)),
        "hall": float(rng.normal(0.0, 2.0)),
        "parked": 345.0 if rng.random() < 0.5 else device.clock,
        "clock": device.clock,
        "memory_clock": device.memory_clock,
        "memory": device.memory,
        "generation": device.generation,
    }
    attached = bool(rng.random() < 0.6)
    for place in case.layout.ranks:
        exporter = exporters[place.host]
        labels: dict[str, Scalar] = {"hw.id": place.gpu, "gpu": place.local, "hw.vendor": "nvidia"}
        if attached:
            labels["rank"] = place.rank
        ticks = exporter.ticks(case.begin, case.end)
        target = ReadingTarget(place.host, "device", ticks, labels, case.begin - 86_400.0)
        cadence = exporter.cadence
        names = shared | {"pid": place.pid, "cadence": cadence, "slow": 30.0 / cadence}
        names["pcie"] = (case.habit("idle_pcie") or cadence) / cadence
        names["errors"] = (case.habit("corrected_errors") or 0.0) * (rng.random() < 0.15)
        names |= _physics(case, place, activity, ticks, names, rng)
        for one in readings.read("device", target, names, rng):
            yield from _of_processes(case, place, one)


def _of_processes(
    case: CaseSituation, place: RankPlace, series: MetricSeries
) -> Iterator[MetricSeries]:
    """Yield a series; memory of a process ends with it, and its successor's has another pid."""
    mark = case.restart
    if series.metric != "hw.gpu.process.memory" or mark is None:
        yield series
        return
    yield series.kept(series.times < mark.at)
    if place.rank < mark.world:
        after = series.kept(series.times >= mark.at + mark.seconds)
        yield replace(after, attributes={**after.attributes, "pid": place.pid_of(1)})


def _physics(
    case: CaseSituation,
    place: RankPlace,
    activity: RankActivity,
    ticks: np.ndarray,
    names: dict[str, Any],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return what the readings of a device are made of, at each time."""
    device, count = case.plan.device, len(ticks)
    draw = names["draw"] * float(rng.normal(1.0, 0.012))
    compute, comm = activity.shares(place.rank, ticks, _WINDOW)
    slow_compute, slow_comm = activity.shares(place.rank, ticks, 60.0)
    # The nearer the kernels come to the limit of power, the more often it holds clocks down.
    near = min(1.0, max(0.0, (draw - 0.88) / 0.1))
    limit = device.power * (0.92 if case.older[place.host] else 1.0)
    moved = (case.habit("moving_power_cap") or 0.0) * (
        0.5 + 0.5 * np.sin((ticks - case.begin) / 170.0)
    )
    drawn = device.idle + (limit - device.idle) * (draw * compute + 0.36 * comm)
    above = (case.habit("warm_rack") or 0.0) * (place.host % 4) / 3.0 + names["hall"]
    offset = 34.0 + above + float(rng.normal(0.0, 1.8))
    share = 0.6 + 0.3 * (case.begin % 97.0) / 97.0 + float(rng.normal(0.0, 0.004))
    since = ticks - case.first_step_at
    loaded = np.where(since < 0.0, 0.12, np.minimum(1.0, 0.8 + since / 100.0))
    mean = draw * slow_compute + 0.36 * slow_comm
    return {
        "compute": compute,
        "comm": comm,
        "busy": np.minimum(1.0, compute + comm),
        "capped": (compute > 0.5) & (rng.random(count) < 0.8 * near),
        "steps": rng.integers(1, 7, count),
        "cap": limit * (1.0 - moved),
        "drawn": np.minimum(drawn * (1.0 + rng.normal(0.0, 0.015, count)), limit * (1.0 - moved)),
        "heat": offset + 27.0 * mean + rng.normal(0.0, 0.4, count),
        "used": device.memory * 2.0**30 * share * loaded,
    }
