"""Pushing to a real Alertmanager 0.25: amtool sees the alerts, its routes and inhibitions hold."""

import json
import subprocess
import time

import pytest
from tests.serving import Answer, served
from tests.waiting import until

from rankscope.collector.store.deliver import OutboxDeliverer
from rankscope.vocabulary.clock import SystemClock


@pytest.fixture
def webhook():
    """Return the address of a receiver of Alertmanager's webhooks, and what it got."""
    got = []

    def take(request):
        got.append(json.loads(request.body))
        return Answer()

    with served(take) as address:
        yield f"{address}/", got


@pytest.fixture
def config(webhook):
    """Return a configuration: critical alerts are routed to the webhook, the rest nowhere."""
    return {
        "route": {
            "receiver": "nobody",
            "group_by": ["incident"],
            "group_wait": "100ms",
            "group_interval": "200ms",
            "routes": [{"receiver": "oncall", "matchers": ['severity="critical"']}],
        },
        "inhibit_rules": [
            {
                "source_matchers": ['fault="network.switch"'],
                "target_matchers": ['fault="host.cpu_contention"'],
                "equal": ["cluster"],
            }
        ],
        "receivers": [
            {"name": "nobody"},
            {"name": "oncall", "webhook_configs": [{"url": webhook[0], "send_resolved": True}]},
        ],
    }


@pytest.fixture
def pushed(store, add_webhook, alertmanager, config):
    """Return a function that commits changes and pushes them, and the Alertmanager's address."""
    address = alertmanager(config)
    add_webhook(url=address, secret="", format="alertmanager_api")
    deliverer = OutboxDeliverer(outbox=store, clock=SystemClock())

    def push(*changes):
        store.commit(changes, time.time())
        deliverer.run_once(time.time())
        deliverer.settle(timeout_seconds=60)

    yield push, address
    deliverer.stop()


@pytest.fixture
def amtool(program):
    """Return a function that runs amtool against an address and returns what it prints as JSON."""

    def run(address, *words):
        command = [program("amtool"), f"--alertmanager.url={address}", "-o", "json", *words]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    return run


@pytest.mark.programs
def test_an_incident_is_an_alert_that_is_routed_and_ends(
    store, pushed, changed, webhook, amtool, queued
):
    push, address = pushed
    push(changed("opened", severity="warning"), changed("opened", identity="b2"))
    assert {("opened", "delivered")} == set(queued())
    found = until(
        lambda: amtool(address, "alert", "query"), "two alerts", lambda one: len(one) == 2
    )
    by_severity = {row["labels"]["severity"]: row for row in found}
    assert ["oncall"] == [row["name"] for row in by_severity["critical"]["receivers"]]
    assert "rank 3 is slow" == by_severity["critical"]["annotations"]["description"]
    assert {"host.cpu_contention"} == {row["labels"]["fault"] for row in found}
    _, got = webhook
    first = until(lambda: got[:1], "a webhook")[0]
    assert ("4", "firing", "oncall") == (first["version"], first["status"], first["receiver"])
    assert "b2".ljust(20, "0") == first["alerts"][0]["labels"]["incident"]
    push(changed("resolved", identity="b2", updated_at=1_700_000_060.0))
    (last,) = until(lambda: [row for row in got if row["status"] == "resolved"], "the end")
    assert first["alerts"][0]["labels"] == last["alerts"][0]["labels"]
    assert 1 == len(until(lambda: amtool(address, "alert", "query")))


@pytest.mark.programs
def test_a_severity_that_rose_leaves_no_alert_behind(store, pushed, changed, amtool):
    push, address = pushed
    push(changed("opened", severity="warning"))
    push(changed("updated", severity="critical", updated_at=1_700_000_030.0))
    (alert,) = amtool(address, "alert", "query")
    assert "critical" == alert["labels"]["severity"]


@pytest.mark.programs
def test_inhibitions_of_the_site_hold(store, pushed, changed, amtool):
    push, address = pushed
    push(changed("opened", identity="a"), changed("opened", identity="b", fault="network.switch"))
    until(lambda: amtool(address, "alert", "query", "--inhibited"))
    (alert,) = amtool(address, "alert", "query", "--inhibited")
    assert ("host.cpu_contention", "suppressed") == (
        alert["labels"]["fault"],
        alert["status"]["state"],
    )
