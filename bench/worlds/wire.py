"""OTLP JSON lines: one push of a host a line, one ResourceMetrics per (host, job, attempt)."""

import gzip
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankscope.vocabulary import metrics as vocabulary

from .effects import Scalar
from .series import MetricSeries


@dataclass(frozen=True, slots=True)
class HostResource:
    """The attributes of a resource of a host; `attempt` None: without a job."""

    host: str
    switch: str
    job: str | None
    attempt: int | None

    def document(self) -> dict[str, Any]:
        """Return it as OTLP JSON has it."""
        named: dict[str, Scalar] = {
            "service.name": "rankscope-agent",
            "host.name": self.host,
            "network.switch": self.switch,
        }
        if self.job is not None:
            named["rankscope.job.id"] = self.job
            named["rankscope.job.attempt"] = self.attempt or 0
        return {"attributes": _attributes(named)}


@dataclass(frozen=True, slots=True)
class HostPush:
    """Points of one host in one push: rows of (resource, series number, point number)."""

    at: float
    host: int
    line: str


def metric_lines(
    resources: dict[tuple[int, int | None], HostResource],
    series: Sequence[MetricSeries],
    slots: Sequence[np.ndarray],
) -> Iterator[HostPush]:
    """Yield the pushes; `slots`: for each series the time at which each of its points is pushed."""
    number = np.concatenate([np.full(len(one.times), at) for at, one in enumerate(series)])
    times = np.concatenate([one.times for one in series])
    values = np.concatenate([one.values for one in series])
    pushed = np.concatenate(list(slots))
    hosts = np.array([one.host for one in series])[number]
    order = np.lexsort((times, number, hosts, pushed))
    heads = [_head(one) for one in series]
    text: dict[tuple[int, int | None], dict[str, list[str]]] = {}
    current: tuple[float, int] | None = None
    rows = zip(
        pushed[order].tolist(),
        hosts[order].tolist(),
        number[order].tolist(),
        times[order].tolist(),
        values[order].tolist(),
        strict=True,
    )
    for at, host, which, time, value in rows:
        if current != (at, host):
            if current is not None:
                yield HostPush(*current, _line(resources, text))
            current, text = (at, host), {}
        one = series[which]
        metrics = text.setdefault((one.host, one.attempt), {})
        points = metrics.setdefault(one.metric, [])
        points.append(f'{heads[which]}"timeUnixNano":"{_nano(time)}","asDouble":{_number(value)}}}')
    if current is not None:
        yield HostPush(*current, _line(resources, text))


def log_line(resource: HostResource, at: float, name: str, attributes: dict[str, Scalar]) -> str:
    """Return a request with one log record."""
    record = {
        "timeUnixNano": _nano(at),
        "eventName": name,
        "severityNumber": 9,
        "attributes": _attributes(attributes),
    }
    scope = {"scope": {"name": "rankscope"}, "logRecords": [record]}
    one = {"resource": resource.document(), "scopeLogs": [scope]}
    return json.dumps({"resourceLogs": [one]}, separators=(",", ":"))


def write(path: Path, lines: Iterable[str]) -> None:
    """Write lines compressed; the same lines give the same bytes."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 5, raw, mtime=0) as packed:
        for line in lines:
            packed.write(line.encode() + b"\n")


def _head(one: MetricSeries) -> str:
    labels = json.dumps(_attributes(one.attributes), separators=(",", ":"))
    start = f'"startTimeUnixNano":"{_nano(one.start)}",' if one.start is not None else ""
    return f'{{"attributes":{labels},{start}'


def _line(
    resources: dict[tuple[int, int | None], HostResource],
    text: dict[tuple[int, int | None], dict[str, list[str]]],
) -> str:
    found = []
    for key, metrics in text.items():
        shown = []
        for name, points in metrics.items():
            row = vocabulary.catalogue()[name]
            inside = f'"dataPoints":[{",".join(points)}]'
            if row.kind == "counter":
                body = f'"sum":{{{inside},"aggregationTemporality":2,"isMonotonic":true}}'
            else:
                body = f'"gauge":{{{inside}}}'
            shown.append(f'{{"name":"{name}","unit":"{row.unit}",{body}}}')
        resource = json.dumps(resources[key].document(), separators=(",", ":"))
        scope = f'{{"scope":{{"name":"rankscope"}},"metrics":[{",".join(shown)}]}}'
        found.append(f'{{"resource":{resource},"scopeMetrics":[{scope}]}}')
    return f'{{"resourceMetrics":[{",".join(found)}]}}'


def _attributes(named: dict[str, Scalar]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in named.items()]


def _value(value: Scalar) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _word(value)}
    return {"stringValue": value}


def _nano(at: float) -> str:
    return str(round(at * 1e6) * 1000)


def _number(value: float) -> str:
    return f"{value:.10g}" if math.isfinite(value) else f'"{_word(value)}"'


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
