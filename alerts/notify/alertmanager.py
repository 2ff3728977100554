"""The `alertmanager` format: what an Alertmanager's webhook sends, payload version 4.

For receivers that take Alertmanager's webhooks already. One alert a message, its incident; a secret
that begins with `whsec_` signs as Standard Webhooks do, any other is sent as a bearer token.
"""

from typing import Any

from ...vocabulary.times import rfc3339
from ..ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from . import alert_labels, answers, bodies, webhook
from .traits import FormatTraits

NAME = "alertmanager"
TRAITS = FormatTraits(credential_help="write whsec_... to have messages signed, or a bearer token")

SIGNING = "whsec_"


def request(endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:
    """Return the request of one attempt at `at` (seconds since the epoch)."""
    body = bodies.encoded(_payload(endpoint, notice))
    headers = {"content-type": "application/json", "webhook-id": notice.id}
    headers |= authorization(endpoint, notice, body, at)
    return HttpPost(endpoint.url, headers, body)


def outcome(status: int, body: bytes) -> DeliveryOutcome:  # noqa: ARG001
    """Return how an attempt ended: any 2xx is success."""
    return answers.by_status(status)


def authorization(
    endpoint: NotifiedEndpoint, notice: OutboxNotice, body: bytes, at: float
) -> dict[str, str]:
    """Return headers that prove who sends: a signature, a bearer token, or none."""
    if endpoint.secret.startswith(SIGNING):
        return webhook.signed(endpoint.secret, notice.id, body, at)
    return {"authorization": f"Bearer {endpoint.secret}"} if endpoint.secret else {}


def _payload(endpoint: NotifiedEndpoint, notice: OutboxNotice) -> dict[str, Any]:
    alert = _alert(notice)
    group = {name: alert["labels"][name] for name in ("alertname", "incident")}
    words = ",".join(f'{name}="{value}"' for name, value in group.items())
    return {
        "version": "4",
        "groupKey": f"{{}}:{{{words}}}",
        "truncatedAlerts": 0,
        "status": alert["status"],
        "receiver": endpoint.id,
        "groupLabels": group,
        "commonLabels": alert["labels"],
        "commonAnnotations": alert["annotations"],
        "externalURL": notice.console,
        "alerts": [alert],
    }


def _alert(notice: OutboxNotice) -> dict[str, Any]:
    document = notice.data
    if "root_cause" not in document:
        labels = {"alertname": "RankscopeTest", "incident": "test", "severity": "info"}
        return {
            "status": "firing",
            "labels": labels,
            "annotations": {"summary": str(document.get("text", ""))},
            "startsAt": rfc3339(notice.at),
            "endsAt": alert_labels.NEVER,
            "generatorURL": notice.console,
            "fingerprint": alert_labels.fingerprint({"id": "test"}),
        }
    annotations = alert_labels.annotations(notice, document)
    return {
        "status": "resolved" if document["status"] == "resolved" else "firing",
        "labels": alert_labels.labels(document),
        "annotations": annotations,
        "startsAt": document["opened_at"],
        "endsAt": document["resolved_at"] or alert_labels.NEVER,
        "generatorURL": annotations.get("console", ""),
        "fingerprint": alert_labels.fingerprint(document),
    }
