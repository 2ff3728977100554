"""The `pagerduty` format: Events API v2, one alert an incident, or one for all that came at once.

The secret is the integration's routing key; the address is https://events.pagerduty.com/v2/enqueue
(for accounts in Europe events.eu.pagerduty.com). The deduplication key is the notice's id.
"""

import json
from collections.abc import Sequence
from typing import Any

from ...vocabulary.times import rfc3339
from ..ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from . import answers, bodies, plain, wording
from .traits import QUIET, FormatTraits

NAME = "pagerduty"
TRAITS = FormatTraits(
    delivery="digest",
    credential="required",
    credential_help="write the integration's routing key: 32 letters and digits",
    credential_pattern=r"[A-Za-z0-9]{32}",
    grouped=True,
    per_minute=QUIET,
    most_per_minute=120,
)

LONGEST_SUMMARY = 1024
_LONGEST_KEY = 255
_ACTIONS = {"incident.acknowledged": "acknowledge", "incident.resolved": "resolve"}
_SEVERITIES = {"critical": "critical", "warning": "warning", "info": "info", "resolved": "info"}


def request(endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:  # noqa: ARG001
    event = _event(notice) | {"routing_key": endpoint.secret}
    return HttpPost(endpoint.url, {"content-type": "application/json"}, bodies.encoded(event))


def outcome(status: int, body: bytes) -> DeliveryOutcome:
    """Return how an attempt ended: 202 is success; a 400 lists what is wrong with the event."""
    found = answers.by_status(status)
    if status == 400:
        try:
            errors = json.loads(body)["errors"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return found
        text = plain.line("; ".join(map(str, errors)), answers.LONGEST_TEXT)
        return DeliveryOutcome(status, f"{found.error}: {text}")
    return found


def action(notice: OutboxNotice) -> str:
    """Return trigger, acknowledge or resolve.

    An alert that PagerDuty does not have yet cannot be acknowledged: what is new is a trigger.
    """
    if notice.type != "digest":
        return _ACTIONS.get(notice.type, "trigger")
    counts = notice.data["counts"]
    if not (counts.get("open") or counts.get("acknowledged")):
        return "resolve"
    known = set(notice.data["happenings"]) <= set(_ACTIONS)
    return "acknowledge" if known and not counts.get("open") else "trigger"


def _event(notice: OutboxNotice) -> dict[str, Any]:
    found = {"event_action": action(notice), "dedup_key": notice.id[:_LONGEST_KEY]}
    if found["event_action"] != "trigger":
        return found
    text = wording.text(notice)
    payload: dict[str, Any] = {
        "summary": plain.line(text.title, LONGEST_SUMMARY),
        "source": "rankscope",
        "severity": _SEVERITIES[text.level],
        "timestamp": rfc3339(notice.at),
        "custom_details": _details(text.rows),
    }
    if "root_cause" in notice.data:
        payload |= _parts(notice.data)
    event: dict[str, Any] = {**found, "client": "Rankscope", "payload": payload}
    if text.link:
        event["client_url"] = text.link
        event["links"] = [{"href": text.link, "text": "Open in the console"}]
    return event


def _details(rows: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return rows by label; a label that comes again gets a number."""
    found: dict[str, str] = {}
    for label, row in rows:
        again = sum(key.partition(" #")[0] == label for key in found)
        found[f"{label} #{again + 1}" if again else label] = row
    return found


def _parts(document: dict[str, Any]) -> dict[str, str]:
    """Return what PagerDuty groups and filters by: source, component, group and class."""
    cause = next(iter(document["root_cause"]["hypotheses"]), None)
    entity = None if cause is None else cause["entity"]
    found = {
        "source": (entity and entity["host"]) or document["job"] or "rankscope",
        "component": f"{entity['type']} {entity['id']}" if entity else None,
        "group": document["job"],
        "class": cause and cause["fault"],
    }
    return {name: plain.line(str(text), 200) for name, text in found.items() if text}
