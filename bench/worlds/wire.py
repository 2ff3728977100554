"""OTLP JSON lines: one push of a host a line, one ResourceMetrics per (host, job, attempt)."""

import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankscope.vocabulary import metrics as vocabulary

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
        return _json({"attributes": _attributes(named)})


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
    heads = [_head(one) for one in series]
    cuts = np.flatnonzero(np.diff(pushed[order]) + np.diff(hosts[order])) + 1
    for push in np.split(order, cuts):
        text: dict[tuple[int, int | None], dict[str, list[str]]] = {}
        for which, time, value in zip(
            number[push].tolist(), times[push].tolist(), values[push].tolist(), strict=True
        ):
            one = series[which]
            points = text.setdefault((one.host, one.attempt), {}).setdefault(one.metric, [])
            shown = f"{value:.10g}" if math.isfinite(value) else f'"{_word(value)}"'
            points.append(f'{heads[which]}"timeUnixNano":"{_nano(time)}","asDouble":{shown}}}')
        yield float(pushed[push[0]]), _line(resources, text)


def log_line(resource: HostResource, event: EventRecord) -> str:
    """Return a request with one log record."""
    record = {
        "timeUnixNano": _nano(event.at),
        "eventName": event.name,
        "severityNumber": 9,
        "attributes": _attributes(event.attributes),
    }
    scope = _json({"scope": {"name": "rankscope"}, "logRecords": [record]})
    return f'{{"resourceLogs":[{{"resource":{resource.text()},"scopeLogs":[{scope}]}}]}}'


def write(path: Path, lines: Iterable[str]) -> None:
    """Write lines compressed; the same lines give the same bytes."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 5, raw, mtime=0) as packed:
        for line in lines:
            packed.write(line.encode() + b"\n")


def _head(one: MetricSeries) -> str:
    start = f'"startTimeUnixNano":"{_nano(one.start)}",' if one.start is not None else ""
    return f'{{"attributes":{_json(_attributes(one.attributes))},{start}'


def _line(resources: Resources, text: Mapping[tuple[int, int | None], dict[str, list[str]]]) -> str:
    found = []
    for key, metrics in text.items():
        shown = []
        for name, points in metrics.items():
            row = vocabulary.catalogue()[name]
            body = f'{{"dataPoints":[{",".join(points)}]'
            if row.kind == "counter":
                body = f'"sum":{body},"aggregationTemporality":2,"isMonotonic":true}}'
            else:
                body = f'"gauge":{body}}}'
            shown.append(f'{{"name":"{name}","unit":"{row.unit}",{body}}}')
        scope = f'{{"scope":{{"name":"rankscope"}},"metrics":[{",".join(shown)}]}}'
        found.append(f'{{"resource":{resources[key].text()},"scopeMetrics":[{scope}]}}')
    return f'{{"resourceMetrics":[{",".join(found)}]}}'


def _attributes(named: Mapping[str, Scalar]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in named.items()]


def _value(value: Scalar) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _word(value)}
    return {"stringValue": value}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _nano(at: float) -> str:
    return str(round(at * 1e6) * 1000)


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
