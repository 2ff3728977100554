"""What the agent reads of hosts and their ports."""

from collections.abc import Iterator, Sequence

import numpy as np

from . import readings
from .activity import RankActivity
from .effects import Scalar
from .exporters import HostExporter
from .readings import ReadingTarget
from .series import MetricSeries
from .situation import CaseSituation

_PORT = 50e9
"""Bytes a second that a port carries."""


def reported(
    case: CaseSituation, activity: RankActivity, exporters: Sequence[HostExporter]
) -> Iterator[MetricSeries]:
    rng = case.plan.rng("hosts")
    for index, exporter in enumerate(exporters):
        yield from _system(case, index, exporter, rng)
        yield from _ports(case, index, exporter, activity, rng)


def _system(
    case: CaseSituation, index: int, exporter: HostExporter, rng: np.random.Generator
) -> Iterator[MetricSeries]:
    ticks = exporter.ticks(case.begin, case.end)
    since = ticks - case.begin
    load = np.full(len(ticks), float(rng.uniform(0.08, 0.22)))
    neighbour = case.habit("noisy_neighbour")
    if neighbour and rng.random() < 0.5:
        begin = float(rng.uniform(0.1, 0.7)) * (case.end - case.begin)
        load = load + np.where((since >= begin) & (since < begin + 150.0), neighbour, 0.0)
    used = case.host_memory * float(rng.uniform(0.1, 0.3)) + rng.normal(0.0, 2.0**28, len(ticks))
    growth = (case.habit("startup_growth") or 0.0) * 2.0**20 / 60.0
    used = used + case.plan.per_host * growth * 120.0 * (1.0 - np.exp(-since / 120.0))
    cache = (case.habit("page_cache") or 0.0) * 2.0**20
    names = {
        "load": load,
        "memory": case.host_memory,
        "used": used,
        "cached": np.minimum(used * 1.05 + cache * since, used * 1.05 + 6e10),
        "shm": 2.0**30 * float(rng.uniform(0.2, 6.0)),
        "shm_limit": 2.0**30 * float(rng.choice([64.0, 512.0, 1008.0])),
        "offset": exporter.clock(ticks) - ticks,
        "cadence": exporter.cadence,
        "slow": 60.0 / exporter.cadence,
    }
    target = ReadingTarget(index, "host", ticks, {}, case.begin - 86_400.0)
    yield from readings.read("host", target, names, rng)


def _ports(
    case: CaseSituation,
    index: int,
    exporter: HostExporter,
    activity: RankActivity,
    rng: np.random.Generator,
) -> Iterator[MetricSeries]:
    ticks = exporter.ticks(case.begin, case.end)
    host, first = case.layout.hosts[index], case.layout.on_host(index)[0]
    for number, device in enumerate(host.nics):
        labels: dict[str, Scalar] = {"device": device, "port": 1}
        _, comm = activity.shares(first + 2 * number, ticks, exporter.cadence)
        alone = len(case.layout.hosts) == 1
        names = {
            "rail": number,
            "switch": host.switch,
            "socket": index * 8 + number,
            "gpu": 2 * number,
            "width": _PORT,
            "rate": (0.001 if alone else 0.25) * _PORT * np.minimum(comm, 0.35),
            "errors": (case.habit("corrected_errors") or 0.0) * (rng.random() < 0.1) / 3600.0,
            "marks": case.habit("congestion_marks") or 0.0,
            "cadence": exporter.cadence,
        }
        target = ReadingTarget(index, "network", ticks, labels, case.begin - 86_400.0)
        yield from readings.read("port", target, names, rng)
