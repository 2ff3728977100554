"""Alertmanager in both ways: the payload of its webhooks, and alerts for its API."""

import json
import time

import pytest
from standardwebhooks import Webhook

from rankscope.alerts.notify import alert_labels, alertmanager, alertmanager_api
from rankscope.alerts.ports import NotifiedEndpoint, OutboxNotice

AT = 1_700_000_000.0


def _endpoint(secret="", url="http://am:9093"):
    return NotifiedEndpoint(id="w", url=url, secret=secret, format="alertmanager")


def test_the_payload_has_what_alertmanager_sends(new_notice):
    """The ten keys of version 0.25, and those of an alert."""
    payload = json.loads(alertmanager.request(_endpoint(), new_notice(), AT).body)
    assert set(payload) == {
        "version", "groupKey", "truncatedAlerts", "status", "receiver", "groupLabels",
        "commonLabels", "commonAnnotations", "externalURL", "alerts",
    }  # fmt: skip
    (alert,) = payload["alerts"]
    assert set(alert) == {
        "status", "labels", "annotations", "startsAt", "endsAt", "generatorURL", "fingerprint",
    }  # fmt: skip
    assert ("4", "firing", "0001-01-01T00:00:00Z") == (
        payload["version"],
        payload["status"],
        alert["endsAt"],
    )
    assert alert["labels"] == {
        "alertname": "RankscopeIncident",
        "incident": "a1000000000000000000",
        "severity": "critical",
        "fault": "network.switch",
        "job_id": "run-1",
        "cluster": "c1",
    }


def test_the_end_of_an_incident_resolves_its_alert_under_the_same_fingerprint(new_notice):
    opened, resolved = (
        json.loads(alertmanager.request(_endpoint(), notice, AT).body)
        for notice in (new_notice(severity="warning"), new_notice("resolved"))
    )
    assert "resolved" == resolved["status"] == resolved["alerts"][0]["status"]
    assert "2023-11-14T22:23:20.000Z" == resolved["alerts"][0]["endsAt"]
    assert opened["alerts"][0]["fingerprint"] == resolved["alerts"][0]["fingerprint"]
    assert opened["groupKey"] == resolved["groupKey"]


@pytest.mark.parametrize(
    ("secret", "headers"),
    [
        ("", {}),
        ("token", {"authorization": "Bearer token"}),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", {"webhook-timestamp": "1700000000"}),
    ],
)
def test_the_secret_signs_or_is_a_bearer_token(new_notice, secret, headers):
    found = alertmanager.request(_endpoint(secret), new_notice(), AT).headers
    assert headers.items() <= found.items()
    assert ("webhook-signature" in found) == secret.startswith("whsec_")
    assert ("authorization" in found) == (secret == "token")


def test_a_signed_payload_is_verified_by_an_independent_library(new_notice):
    secret, now = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", time.time()
    request = alertmanager.request(_endpoint(secret), new_notice(), now)
    assert "4" == Webhook(secret).verify(request.body, dict(request.headers))["version"]


@pytest.mark.parametrize(
    "url", ["http://am:9093", "http://am:9093/", "http://am:9093/api/v2/alerts"]
)
def test_alerts_go_to_the_api_of_the_alertmanager_that_is_named(url, new_document):
    notice = OutboxNotice("state", AT, {"incidents": [new_document()]}, id="m")
    request = alertmanager_api.request(_endpoint(url=url), notice, AT)
    assert "http://am:9093/api/v2/alerts" == request.url


def test_an_open_alert_ends_by_itself_unless_it_is_repeated(new_document):
    (alert,) = _pushed([new_document()], at=AT + 60)
    assert "2023-11-14T22:18:20.000Z" == alert["endsAt"]  # four repetitions of a minute
    (over,) = _pushed([new_document(status="resolved")], at=AT + 9000)
    assert "2023-11-14T22:23:20.000Z" == over["endsAt"]


def test_what_changes_often_is_no_label(new_document):
    first, second = (
        _pushed([new_document(summary=summary)])[0]["labels"] for summary in ("one", "two")
    )
    assert first == second


def test_an_alert_whose_labels_changed_ends_under_the_old_ones(new_document):
    old, new = _pushed([new_document()], [new_document(severity="warning")], at=AT + 60)
    assert ("warning", "critical") == (old["labels"]["severity"], new["labels"]["severity"])
    assert "2023-11-14T22:14:20.000Z" == old["endsAt"]
    assert 1 == len(_pushed([new_document()], [new_document()]))


def test_a_fingerprint_is_sixteen_digits_and_one_for_each_incident():
    one, two = (alert_labels.fingerprint({"id": identity}) for identity in ("a", "b"))
    assert 16 == len(one)
    assert one != two


def _pushed(incidents, before=(), at=AT):
    data = {"incidents": incidents, "before": list(before)}
    notice = OutboxNotice("state", at, data, id="m")
    return json.loads(alertmanager_api.request(_endpoint(), notice, at).body)
