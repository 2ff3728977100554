"""A simulated cluster as a Prometheus sees it that scrapes exporters, and nothing of ours.

The device readings of a recording in the names and units of dcgm-exporter, the host readings in
those of node-exporter: by the collector's own tables, read in the other direction. As pages to be
scraped, and as OpenMetrics with times, from which promtool makes blocks of the past.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rankscope.formats import exporters
from rankscope.lab.simulator.devices import nvidia_name
from rankscope.lab.simulator.placement import host_name
from rankscope.lab.simulator.recording import SimulatedRecording
from rankscope.lab.simulator.shape import SimulationScenario
from rankscope.vocabulary import metrics
from rankscope.vocabulary.samples import Attributes

INTERVAL = 15.0
NAMESPACE = "train"
_DCGM_PORT, _NODE_PORT = 9400, 9100


@dataclass(frozen=True, slots=True)
class ScrapedSeries:
    """One series as an exporter shows it: its times (seconds of the recording) and values."""

    target: str
    name: str
    kind: str
    labels: Mapping[str, str]
    at: NDArray[np.float64]
    value: NDArray[np.float64]

    def text(self) -> str:
        """Return the series as the text format has it."""
        pairs = ",".join(f'{name}="{value}"' for name, value in self.labels.items())
        return f"{self.name}{{{pairs}}}"


def as_scraped(scenario: SimulationScenario, *, period: float = INTERVAL) -> SimulationScenario:
    """Return a scenario whose devices are read by dcgm-exporter, without any job.

    period: seconds between two readings of a device.
    """
    reporting = replace(
        scenario.reporting, devices="dcgm", attributed=False, device_period=period, node=INTERVAL
    )
    return replace(scenario, reporting=reporting)


def exported(recording: SimulatedRecording) -> Iterator[ScrapedSeries]:
    """Yield what the exporters of all hosts show; a lost host shows nothing more."""
    job = recording.scenario.jobs[0].name
    for series in recording.series:
        pairs = dict(series.attributes)
        device = pairs.get("hw.id")
        found = _names(device=device is not None).get(_key(series.metric, series.attributes))
        if found is None or series.resource.job is not None:
            continue
        name, factor = found
        host = host_name(series.host)
        until = recording.lost.get(series.host, np.inf)
        keep = (series.at <= until) & np.isfinite(series.value)
        labels = {"instance": f"{host}:{_NODE_PORT}", "job": "node-exporter"}
        if device is not None:
            labels = {
                "gpu": str(pairs.get("gpu", "")),
                "UUID": str(device),
                "modelName": nvidia_name(recording.scenario.cluster.model(series.host)),
                "Hostname": host,
                "exported_namespace": NAMESPACE,
                "exported_pod": f"{job}-worker-{series.host}",
                "exported_container": "pytorch",
                "instance": f"{host}:{_DCGM_PORT}",
                "job": "dcgm-exporter",
            }
        else:
            more = ("device", "port", "mountpoint")
            labels |= {label: str(pairs[label]) for label in more if label in pairs}
        kind = metrics.catalogue()[series.metric].kind
        yield ScrapedSeries(
            labels["instance"], name, kind, labels, series.at[keep], series.value[keep] / factor
        )


def open_metrics(found: list[ScrapedSeries], *, start: float) -> Iterator[str]:
    """Yield lines of OpenMetrics with times, `start` (epoch seconds) being the recording's begin.

    Sorted by name, as promtool wants it.
    """
    for series in sorted(found, key=lambda one: one.name):
        text = series.text()
        for at, value in zip(series.at.tolist(), series.value.tolist(), strict=True):
            yield f"{text} {value!r} {start + at:.3f}\n"
    yield "# EOF\n"


def page(found: list[ScrapedSeries], target: str, at: float) -> str:
    """Return the page of one target at a time (seconds of the recording), as it is scraped."""
    lines = []
    for series in found:
        if series.target != target:
            continue
        place = int(np.searchsorted(series.at, at, side="right")) - 1
        if place < 0 or at - float(series.at[place]) > 4 * INTERVAL:
            continue
        own = {k: v for k, v in series.labels.items() if k not in ("instance", "job")}
        own = {k.removeprefix("exported_"): v for k, v in own.items()}
        pairs = ",".join(f'{name}="{value}"' for name, value in own.items())
        lines.append(f"{series.name}{{{pairs}}} {float(series.value[place])!r}\n")
    return "".join(lines)


def _key(metric: str, pairs: Attributes) -> tuple[str, Attributes]:
    own = metrics.catalogue()[metric]
    place = {"hw.id", "gpu", "hw.vendor", "source", "rank", "device", "port", "mountpoint", "pid"}
    names = {*own.attributes, *own.optional} - place
    return metric, tuple((name, value) for name, value in pairs if name in names)


@cache
def _names(*, device: bool) -> Mapping[tuple[str, Attributes], tuple[str, float]]:
    """Return the exporter's name and factor for what is measured; the first name of each."""
    found: dict[tuple[str, Attributes], tuple[str, float]] = {}
    table = exporters.load("nvidia") if device else exporters.hosts()
    for row in table.rows.values():
        for target in row.targets:
            made = target.flag or target.bits or target.states or target.choices or target.parts
            if made or (target.labels and device) or not target.factor or row.fault:
                continue
            attributes = tuple(sorted(target.attributes.items()))
            found.setdefault(_key(target.metric, attributes), (row.name, target.factor))
    return found
