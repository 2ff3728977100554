"""A real Alertmanager sends its webhooks to a real collector, whose journal keeps them."""

import subprocess
import urllib.request

import pytest
from tests.waiting import until

from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.settings.journal import JournalSettings
from rankscope.formats.otlp import decode

pytestmark = pytest.mark.programs


def test_its_alerts_are_events_of_the_journal(collector_at, tmp_path, alertmanager, program):
    folder = tmp_path / "data"
    with collector_at(folder) as collector:
        hook = {"url": f"{collector.address}/api/v1/alerts", "send_resolved": True}
        address = alertmanager(
            {
                "route": {"receiver": "rankscope", "group_wait": "10ms", "group_interval": "50ms"},
                "receivers": [{"name": "rankscope", "webhook_configs": [hook]}],
            }
        )
        add = [program("amtool"), f"--alertmanager.url={address}", "alert", "add"]
        labels = ["alertname=NodeDiskFull", "instance=gpu-7:9100", "severity=warning"]
        subprocess.run([*add, *labels, "--annotation=summary=97% used"], check=True)
        counted = "rankscope_collector_events_total 1.0"
        until(lambda: _page(collector), "the webhook", lambda page: counted in page)
    journal = FileJournal(folder / "journal", JournalSettings())
    bodies = [entry.body for entry, _ in journal.read(None)]
    journal.close()
    (event,) = [event for body in bodies for event in decode.logs_protobuf(body).events]
    assert ("alert", "gpu-7") == (event.name, event.resource.host)
    found = {name: event.attributes[name] for name in ("name", "status", "severity", "text")}
    assert {
        "name": "NodeDiskFull",
        "status": "firing",
        "severity": "warning",
        "text": "97% used",
    } == found


def _page(collector):
    with urllib.request.urlopen(f"{collector.address}/metrics", timeout=60) as answer:
        return answer.read().decode()
