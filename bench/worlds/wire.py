"""OTLP JSON lines: one push of a host a line, one ResourceMetrics per (host, job, attempt)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import otlp_lines
from .effects import EventRecord, Scalar
from .series import MetricSeries


@dataclass(frozen=True, slots=True)
class HostResource:
    """The attributes of a resource of a host; `attempt` None: without a job."""

    host: str
    switch: str
    job: str
    attempt: int | None

    def text(self) -> str:
        """Return it as OTLP JSON has it."""
        named: dict[str, Scalar] = {
            "service.name": "rankscope-agent",
            "host.name": self.host,
            "network.switch": self.switch,
        }
        if self.attempt is not None:
            named |= {"rankscope.job.id": self.job, "rankscope.job.attempt": self.attempt}
        return otlp_lines.resource_text(named.items())


Resources = Mapping[tuple[int, int | None], HostResource]
"""Of each host (by index), without a job and for each attempt."""


def metric_lines(
    resources: Resources, series: Sequence[MetricSeries], slots: Sequence[np.ndarray]
) -> Iterator[tuple[float, str]]:
    """Yield (time, line) of the pushes; `slots`: when each point of each series is pushed."""
    number = np.concatenate([np.full(len(one.times), at) for at, one in enumerate(series)])
    times = np.concatenate([one.times for one in series])
    values = np.concatenate([one.values for one in series])
    pushed = np.concatenate(list(slots))
    hosts = np.array([one.host for one in series])[number]
    order = np.lexsort((times, number, hosts, pushed))
    heads = [
        otlp_lines.point_head(otlp_lines.attributes_text(one.attributes.items()), one.start)
        for one in series
    ]
    cuts = np.flatnonzero(np.diff(pushed[order]) + np.diff(hosts[order])) + 1
    for push in np.split(order, cuts):
        text: dict[tuple[int, int | None], dict[str, list[str]]] = {}
        for which, time, value in zip(
            number[push].tolist(), times[push].tolist(), values[push].tolist(), strict=True
        ):
            one = series[which]
            points = text.setdefault((one.host, one.attempt), {}).setdefault(one.metric, [])
            points.append(otlp_lines.point_text(heads[which], time, value))
        reports = ((resources[key].text(), metrics) for key, metrics in text.items())
        yield float(pushed[push[0]]), otlp_lines.metrics_request(reports)


def log_line(resource: HostResource, event: EventRecord) -> str:
    pairs = event.attributes.items()
    return otlp_lines.log_request(resource.text(), event.name, event.at, pairs)
