"""The requests of a case, read and written: who sent one, when, and the points in it."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class SentRequest:
    """A request of OTLP as it came; `at`: the newest time in it, s since the epoch."""

    body: dict[str, Any]
    host: str
    at: float

    @property
    def metrics(self) -> Iterator[dict[str, Any]]:
        """Yield the metrics in it; nothing of events."""
        for resource in self.body.get("resourceMetrics", ()):
            for scope in resource["scopeMetrics"]:
                yield from scope["metrics"]

    @property
    def text(self) -> str:
        """Return the line that holds it."""
        return json.dumps(self.body, separators=(",", ":"))


def read(path: Path) -> list[SentRequest]:
    """Return the requests of case.jsonl.gz, in their order. Raises OSError."""
    found = []
    newest = 0.0
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            body = json.loads(line)
            newest = max(newest, *times(body), 0.0)
            found.append(SentRequest(body, host_of(body), newest))
    return found


def points(metric: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the points of a metric; what is put into the list is sent."""
    held: list[dict[str, Any]] = (metric.get("gauge") or metric["sum"])["dataPoints"]
    return held


def series(metric: dict[str, Any], point: dict[str, Any]) -> str:
    """Return the name of the series that a point belongs to, of its host."""
    named = sorted((row["key"], str(row["value"])) for row in point.get("attributes", ()))
    return f"{metric['name']} {named}"


def attribute(point: dict[str, Any], key: str) -> str:
    """Return an attribute of a point as text, "" where it has none."""
    values = (row["value"] for row in point.get("attributes", ()) if row["key"] == key)
    held: dict[str, Any] = next(values, {})
    return str(next(iter(held.values()), ""))


def seconds(point: dict[str, Any]) -> float:
    """Return the time of a point, s since the epoch."""
    return int(point["timeUnixNano"]) / 1e9


def host_of(body: dict[str, Any]) -> str:
    """Return the host that sent a request, "" where it does not say."""
    for part in (*body.get("resourceMetrics", ()), *body.get("resourceLogs", ())):
        for row in part["resource"]["attributes"]:
            if row["key"] == "host.name":
                return str(row["value"]["stringValue"])
    return ""


def times(body: dict[str, Any]) -> Iterator[float]:
    """Yield the times in a request, s since the epoch."""
    for resource in body.get("resourceMetrics", ()):
        for scope in resource["scopeMetrics"]:
            for metric in scope["metrics"]:
                yield from map(seconds, points(metric))
    for resource in body.get("resourceLogs", ()):
        for scope in resource["scopeLogs"]:
            yield from map(seconds, scope["logRecords"])
