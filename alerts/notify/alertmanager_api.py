"""The `alertmanager_api` format: alerts pushed to a real Alertmanager's API v2.

Its routes, inhibitions, silences and on-call stay. An alert ends by itself unless it is repeated:
each push gives `endsAt` four repetitions ahead, so that a collector that is gone leaves no alert
behind, and one that restarts ends none. An incident whose labels changed ends under its old ones.
"""

from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ...vocabulary.times import rfc3339
from ..ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from . import alert_labels, answers, bodies
from .traits import FormatTraits

NAME = "alertmanager_api"
REPEAT_SECONDS = 60.0
_REPETITIONS = 4
TRAITS = FormatTraits(
    delivery="state",
    repeat_seconds=REPEAT_SECONDS,
    credential_help="write a bearer token, or a user and password into the address",
)
_PATH = "/api/v2/alerts"


def request(endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:
    """Return the request of one attempt at `at` (seconds since the epoch)."""
    headers = {"content-type": "application/json"}
    if endpoint.secret:
        headers["authorization"] = f"Bearer {endpoint.secret}"
    return HttpPost(_address(endpoint.url), headers, bodies.encoded(_alerts(notice, at)))


def outcome(status: int, body: bytes) -> DeliveryOutcome:  # noqa: ARG001
    """Return how an attempt ended: any 2xx is success."""
    return answers.by_status(status)


def _address(url: str) -> str:
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith(_PATH) else path + _PATH))


def _alerts(notice: OutboxNotice, at: float) -> list[dict[str, Any]]:
    if "incidents" not in notice.data:
        return [_test(notice, at)]
    alerts = []
    before = {document["id"]: document for document in notice.data.get("before", ())}
    for document in notice.data["incidents"]:
        labels = alert_labels.labels(document)
        annotations = alert_labels.annotations(notice, document)
        old = before.get(document["id"])
        if old is not None and (old_labels := alert_labels.labels(old)) != labels:
            alerts.append(_alert(old_labels, annotations, document, rfc3339(at)))
        ends = document["resolved_at"] if document["status"] == "resolved" else None
        alerts.append(
            _alert(
                labels, annotations, document, ends or rfc3339(at + REPEAT_SECONDS * _REPETITIONS)
            )
        )
    return alerts


def _alert(
    labels: dict[str, str], annotations: dict[str, str], document: dict[str, Any], ends_at: str
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "labels": labels,
        "annotations": annotations,
        "startsAt": min(document["opened_at"], ends_at),
        "endsAt": ends_at,
    }
    if "console" in annotations:
        found["generatorURL"] = annotations["console"]
    return found


def _test(notice: OutboxNotice, at: float) -> dict[str, Any]:
    return {
        "labels": {"alertname": "RankscopeTest", "severity": "info"},
        "annotations": {"summary": str(notice.data.get("text", ""))},
        "startsAt": rfc3339(at),
        "endsAt": rfc3339(at + REPEAT_SECONDS),
    }
