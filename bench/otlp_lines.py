"""Requests of OTLP as JSON text, one a line: what a simulated world's agents send."""

import gzip
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rankscope.vocabulary import metrics as vocabulary

Scalar = str | int | float | bool
AttributePairs = Iterable[tuple[str, Scalar]]


def attributes_text(named: AttributePairs) -> str:
    return _json(_attributes(named))


def resource_text(named: AttributePairs) -> str:
    return _json({"attributes": _attributes(named)})


def point_head(attributes: str, start: float | None = None) -> str:
    """Return what points of one series begin with; start: of a counter, seconds since the epoch."""
    began = "" if start is None else f'"startTimeUnixNano":"{_nano(start)}",'
    return f'{{"attributes":{attributes},{began}'


def point_text(head: str, at: float, value: float) -> str:
    """Return a point; at: seconds since the epoch."""
    shown = f"{value:.10g}" if math.isfinite(value) else f'"{_word(value)}"'
    return f'{head}"timeUnixNano":"{_nano(at)}","asDouble":{shown}}}'


def metrics_request(reports: Iterable[tuple[str, Mapping[str, Sequence[str]]]]) -> str:
    """Return a request of (resource as text, points as text by metric)."""
    found = []
    for resource, metrics in reports:
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
        found.append(f'{{"resource":{resource},"scopeMetrics":[{scope}]}}')
    return f'{{"resourceMetrics":[{",".join(found)}]}}'


def log_request(resource: str, name: str, at: float, named: AttributePairs) -> str:
    """Return a request of one event of a resource, as text; at: seconds since the epoch."""
    record = {
        "timeUnixNano": _nano(at),
        "eventName": name,
        "severityNumber": 9,
        "attributes": _attributes(named),
    }
    scope = _json({"scope": {"name": "rankscope"}, "logRecords": [record]})
    return f'{{"resourceLogs":[{{"resource":{resource},"scopeLogs":[{scope}]}}]}}'


def write(path: Path, lines: Iterable[str]) -> None:
    """Write lines compressed; the same lines give the same bytes."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 5, raw, mtime=0) as packed:
        for line in lines:
            packed.write(line.encode() + b"\n")


def _attributes(named: AttributePairs) -> list[dict[str, object]]:
    return [{"key": key, "value": _value(value)} for key, value in named]


def _value(value: Scalar) -> dict[str, object]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _word(value)}
    return {"stringValue": value}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _nano(at: float) -> str:
    return str(round(at * 1e6) * 1000)


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
