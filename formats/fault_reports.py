"""What faults of exporters have in common, whether whole pages are read or single series.

How a code is spelled that is a value, by how much a count has grown, which report is one that was
just made in another way, and the event.
"""

from collections.abc import Mapping

from ..vocabulary.samples import Event, TelemetryResource, attributes

FAULT = "rankscope.exporter.fault"
"""A series of fault codes: no metric of the vocabulary, but what events are made of."""

SAME_SECONDS = 120.0
"""One fault that is reported in two ways (last code and count, exporter and agent) is one."""

_UNNAMED = TelemetryResource(host="")


def spelled(value: float, prefix: str, format_spec: str) -> str:
    """Return the code that a value is, as events and metrics carry it."""
    return f"{prefix}{format(int(value), format_spec or 'd')}"


def increase(value: float, before: float | None, kind: str) -> int:
    """Return by how much a count has grown; of one never read before, all of it."""
    if before is not None and value < before and kind == "count":
        before = 0.0  # the exporter was started anew, and counts from nothing
    return int(value - (before or 0.0))


class FaultReports:
    """The newest report of each device and code, `most` of them at most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._reported: dict[tuple[str, str], tuple[str, float]] = {}

    def note(self, device: str, code: str, kind: str, at: float) -> bool:
        """Note a report; return whether it is another one than was just made in another way."""
        before = self._reported.get((device, code))
        if before is not None and before[0] != kind and at - before[1] <= SAME_SECONDS:
            return False
        if len(self._reported) >= self._most:
            self._reported.clear()
        self._reported[device, code] = (kind, at)
        return True


def event(
    at: float,
    *,
    hw_id: str,
    gpu: int | None,
    code: str,
    vendor: str,
    exporter: str,
    count: int,
    more: Mapping[str, str | None] | None = None,
    resource: TelemetryResource = _UNNAMED,
) -> Event:
    """Return the event of a fault that an exporter shows; `more`: further attributes."""
    name = f"XID {code}" if code.isdigit() else f"fault {code}"
    pairs = {
        "hw.id": hw_id,
        "gpu": gpu,
        "code": code,
        "vendor": vendor,
        "text": f"{name}, reported by {exporter}",
        "source": "exporter",
        **(more or {}),
        "count": count if count > 1 else None,
    }
    return Event("gpu.fault", at, dict(attributes(pairs)), resource)
