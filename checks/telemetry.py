"""Results as `--json` prints them, and as events `check.result`."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..vocabulary.checks import EVENT
from ..vocabulary.rounding import number
from ..vocabulary.samples import Event, Scalar, TelemetryResource
from ..vocabulary.times import rfc3339
from . import judging
from .judging import JudgedCheck


def document(host: str, at: float, results: Sequence[JudgedCheck]) -> dict[str, Any]:
    """Return the results as one JSON object."""
    return {
        "host": host,
        "at": rfc3339(at),
        "verdict": judging.overall(results),
        "results": [_result(row) for row in results],
    }


def events(
    host: str, at: float, results: Iterable[JudgedCheck], *, incident: str = ""
) -> list[Event]:
    """Return an event a check and device: of the worst of its results, where it has several."""
    resource = TelemetryResource(host)
    return [
        Event(EVENT, at, attributes(row, incident=incident), resource)
        for row in judging.worst(results)
    ]


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
