"""Results as documents: the one that `--json` prints, and the event `check.result` in OTLP JSON."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..vocabulary.checks import EVENT
from ..vocabulary.rounding import number
from ..vocabulary.samples import Scalar
from ..vocabulary.times import rfc3339
from . import judging
from .judging import JudgedCheck

SERVICE = "rankscope-check"


def document(host: str, at: float, results: Sequence[JudgedCheck]) -> dict[str, Any]:
    """Return the results as one JSON object."""
    return {
        "host": host,
        "at": rfc3339(at),
        "verdict": judging.overall(results),
        "results": [_result(row) for row in results],
    }


def logs(
    host: str, at: float, results: Iterable[JudgedCheck], *, cluster: str = "", incident: str = ""
) -> dict[str, Any]:
    """Return an OTLP request of logs with an event a result."""
    resource: dict[str, Scalar] = {"host.name": host, "service.name": SERVICE}
    if cluster:
        resource["rankscope.cluster"] = cluster
    records = [
        {
            "timeUnixNano": str(int(at * 1e9)),
            "eventName": EVENT,
            "attributes": _pairs(attributes(row, incident=incident)),
        }
        for row in results
    ]
    held = {"attributes": _pairs(resource)}
    return {"resourceLogs": [{"resource": held, "scopeLogs": [{"logRecords": records}]}]}


def attributes(row: JudgedCheck, *, incident: str = "") -> dict[str, Scalar]:
    """Return the attributes of a result's event; what is unknown is left out."""
    given: dict[str, Scalar | None] = {
        "check": row.check,
        "device": row.device,
        "value": row.value,
        "unit": row.unit,
        "expected": row.expected,
        "interval.low": None if row.interval is None else row.interval[0],
        "interval.high": None if row.interval is None else row.interval[1],
        "compared_with": row.compared_with,
        "verdict": row.verdict,
        "reason": row.reason,
        "kind": row.kind or None,
        "incident": incident or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _result(row: JudgedCheck) -> dict[str, Any]:
    return {
        "check": row.check,
        "device": row.device,
        "value": None if row.value is None else number(row.value),
        "unit": row.unit,
        "expected": None if row.expected is None else number(row.expected),
        "interval": None if row.interval is None else [number(one) for one in row.interval],
        "compared_with": row.compared_with,
        "verdict": row.verdict,
        "reason": row.reason,
        "kind": row.kind,
    }


def _pairs(given: Mapping[str, Scalar]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in given.items()]


def _value(value: Scalar) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    return {"doubleValue": float(value)}
