"""An incident as an alert of Prometheus' Alertmanager: labels to route by, annotations to read.

Labels are an alert's identity there, so they hold only what seldom changes. Severity and first
cause may change once or twice: whoever sends alerts ends the one with the old labels.
"""

from collections.abc import Mapping
from typing import Any

from ...vocabulary import faults
from ..ports import OutboxNotice
from . import plain, wording

ALERT_NAME = "RankscopeIncident"
NEVER = "0001-01-01T00:00:00Z"
"""What Alertmanager's webhooks give as the end of an alert that has none."""

_LONGEST_LABEL = 200
_LONGEST_ANNOTATION = 1000


def labels(document: Mapping[str, Any]) -> dict[str, str]:
    """Return an incident's labels; an empty one is left out."""
    cause = next(iter(document["root_cause"]["hypotheses"]), None)
    found = {
        "alertname": ALERT_NAME,
        "incident": document["id"],
        "severity": document["severity"],
        "fault": faults.UNKNOWN if cause is None else cause["fault"],
        "job_id": document["job"],
        "cluster": document["cluster"],
        "host": None if cause is None else cause["entity"]["host"],
    }
    return {
        name: text
        for name, value in found.items()
        if value and (text := plain.line(str(value), _LONGEST_LABEL))
    }


def annotations(notice: OutboxNotice, document: Mapping[str, Any]) -> dict[str, str]:
    """Return what people read about an incident."""
    cause = next(iter(document["root_cause"]["hypotheses"]), None)
    found = {
        "summary": wording.subject(document),
        "description": document["summary"],
        "how_sure": wording.sure(document),
        "do": "; ".join(f"{label.lower()}: {text}" for label, text in wording.steps(document)),
        "cost": wording.impact(document),
        "status": document["status"],
        "jobs": ", ".join(document["jobs"]),
        "runbook": "" if cause is None else wording.runbook_link(notice.console, cause["runbook"]),
        "console": wording.incident_link(notice.console, document),
    }
    return {
        name: text
        for name, value in found.items()
        if value and (text := plain.line(str(value), _LONGEST_ANNOTATION))
    }


def fingerprint(document: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits that stay the same for an incident, whatever its labels become.

    FNV-1a over names and values, as Alertmanager's own; receivers take it as an opaque key.
    """
    digest = 0xCBF29CE484222325
    for part in ("alertname", ALERT_NAME, "incident", str(document["id"])):
        for byte in (*part.encode(), 0xFF):
            digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return f"{digest:016x}"
