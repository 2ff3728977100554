"""Webhooks of an Alertmanager, payload version 4, as events: alerts that name a host or a job.

Unknown and missing keys are fine: versions differ, and Grafana adds its own. Our own alerts, routed
back to us, are left out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..vocabulary.samples import Event, TelemetryResource
from ..vocabulary.times import parse
from .otlp.errors import UndecodableError

EVENT = "alert"
OURS = ("RankscopeIncident", "RankscopeTest")

_HOSTS = ("host_name", "host", "node", "nodename", "Hostname", "kubernetes_node")
_JOBS = ("job_id", "job")
_TEXTS = ("summary", "description", "message")
_LONGEST = 300


@dataclass(slots=True)
class AlertEvents:
    """The events of a payload, and how many of its alerts were left out."""

    groups: list[tuple[TelemetryResource, list[Event]]] = field(default_factory=list)
    left_out: int = 0


def read(body: bytes) -> AlertEvents:
    """Return the alerts of a payload. Raises UndecodableError where it is none."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UndecodableError("not JSON") from error
    rows = content.get("alerts") if isinstance(content, Mapping) else None
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise UndecodableError("a webhook of Alertmanager has a list called alerts")
    found = AlertEvents()
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise UndecodableError("an object is needed", f"alerts[{number}]")
        event = _event(row, f"alerts[{number}]")
        if event is None:
            found.left_out += 1
        else:
            found.groups.append((event.resource, [event]))
    return found


def _event(row: Mapping[str, Any], place: str) -> Event | None:
    labels, notes = _texts(row, "labels"), _texts(row, "annotations")
    host = next((labels[name] for name in _HOSTS if labels.get(name)), "")
    host = host or _without_port(labels.get("instance", ""))
    job = next((labels[name] for name in _JOBS if labels.get(name)), None)
    name = labels.get("alertname", "")
    if name in OURS or not (host or job):
        return None
    resolved = row.get("status") == "resolved"
    begun = _time(row, "startsAt", place)
    resource = TelemetryResource(host=host, job=job, cluster=labels.get("cluster") or None)
    attributes: dict[str, str] = {
        "name": name[:_LONGEST],
        "status": "resolved" if resolved else "firing",
        "fingerprint": str(row.get("fingerprint") or sorted(labels.items()))[:_LONGEST],
        "severity": labels.get("severity", "")[:_LONGEST],
        "text": next((notes[key] for key in _TEXTS if notes.get(key)), "")[:_LONGEST],
    }
    kept = {key: text for key, text in attributes.items() if text}
    return Event(EVENT, _time(row, "endsAt", place) if resolved else begun, kept, resource)


def _texts(row: Mapping[str, Any], key: str) -> dict[str, str]:
    found = row.get(key)
    if not isinstance(found, Mapping):
        return {}
    return {str(name): text for name, text in found.items() if isinstance(text, str)}


def _time(row: Mapping[str, Any], key: str, place: str) -> float:
    try:
        return max(parse(str(row[key])), 0.0)
    except (KeyError, ValueError, OverflowError) as error:
        raise UndecodableError("write RFC 3339", f"{place}.{key}") from error


def _without_port(instance: str) -> str:
    host, colon, port = instance.rpartition(":")
    return (host if colon and port.isdigit() else instance).strip("[]")
