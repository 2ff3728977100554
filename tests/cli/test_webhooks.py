"""`rankscope webhooks` against a running collector."""

import json
import time

import pytest
from tests.serving import Answer, served

from rankscope.alerts.lifecycle import IncidentChange
from rankscope.alerts.ports import DeliveryOutcome
from rankscope.cli.main import main
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.vocabulary import entities
from rankscope.vocabulary.ids import IncidentId
from rankscope.vocabulary.incidents import (
    DataQuality,
    Impact,
    Incident,
    RootCause,
    Symptom,
    UnknownScore,
)

TOKEN = "admin-token-0123456789"
AT = 1_700_000_000.0


@pytest.fixture(scope="module")
def receiver():
    """Return the address of a receiver that takes everything."""
    with served(lambda _: Answer(b'{"errcode":0}', "application/json")) as address:
        yield f"{address}/cgi-bin/webhook/send?key=hunter2"


@pytest.fixture(scope="module")
def collector(tmp_path_factory, serving, receiver):
    """Return the address of a collector with a group robot, and a pager that is away for days."""
    settings = CollectorSettings.model_validate(
        {
            "data_dir": tmp_path_factory.mktemp("data"),
            "http": {"listen": "127.0.0.1:0"},
            "api": {"tokens": [{"token": TOKEN, "role": "admin"}]},
            "webhooks": [
                {"name": "group", "url": receiver, "format": "wecom"},
                {
                    "name": "pager",
                    "url": "http://127.0.0.1:9/",
                    "format": "pagerduty",
                    "secret": "R" * 32,
                    "events": ["incident.opened"],
                },
            ],
        }
    )
    store = IncidentDatabaseStore(settings.store_url, webhooks=settings.webhooks)
    rank = entities.rank(3, "gpu-1")
    incident = Incident(
        id=IncidentId("aaaa1".ljust(20, "0")),
        jobs=("run-1",),
        attempt=0,
        cluster=None,
        status="open",
        severity="critical",
        opened_at=AT,
        detected_at=AT,
        updated_at=AT,
        resolved_at=None,
        summary="slow",
        symptoms=(Symptom("job.slow", rank, AT, 1.5, "stragglers", "slow"),),
        root_cause=RootCause(
            "stable", "e", "1", (), UnknownScore(0.0, ()), (), DataQuality((), 0.0, 1.0)
        ),
        impact=Impact(8, 2, 1.5, 100.0),
    )
    now = time.time()  # what is older than a month is not kept
    store.commit([IncidentChange("incident.opened", incident, notify=True)], now)
    for name, outcome in (
        ("pager", DeliveryOutcome(400, "bad \x1b[2J")),
        ("group", DeliveryOutcome(200)),
    ):
        due = store.next_delivery(name, now)
        assert due is not None
        delivery = due[1]
        if outcome.accepted:
            store.delivered(name, delivery, outcome, now)
        else:
            store.failed(name, delivery, outcome, due_at=None, now=now)
    store.close()
    with serving(settings) as address:
        yield address


@pytest.fixture(autouse=True)
def _environment(monkeypatch, collector):
    monkeypatch.setenv("RANKSCOPE_URL", collector)
    monkeypatch.setenv("RANKSCOPE_TOKEN", TOKEN)


def test_endpoints_are_listed_without_their_secrets(capsys):
    assert 0 == main(["webhooks", "list"])
    text = capsys.readouterr().out
    assert "group  wecom" in text
    assert "hunter2" not in text
    assert "R" * 32 not in text
    assert 0 == main(["webhooks", "list", "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {("group", 2), ("pager", 2)} == {(row["id"], row["per_minute"]) for row in rows}


def test_a_test_message_is_sent_and_its_outcome_is_the_exit_code(capsys):
    assert 0 == main(["webhooks", "test", "group"])
    assert "the receiver took the test message (HTTP 200)\n" == capsys.readouterr().out
    assert 1 == main(["webhooks", "test", "pager"])
    assert "the test message was not taken: " in capsys.readouterr().out
    assert 1 == main(["webhooks", "test", "pager", "--json"])
    assert json.loads(capsys.readouterr().out)["delivered"] is False


def test_messages_are_listed_with_their_last_answer(capsys):
    assert 0 == main(["webhooks", "deliveries", "group"])
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("CREATED (UTC)")
    assert "delivered  1      incident.opened" in line
    assert line.endswith("HTTP 200")
    assert 0 == main(["webhooks", "deliveries", "group", "--state", "pending"])
    assert "no message\n" == capsys.readouterr().out


def test_dead_letters_are_sent_again_on_request(capsys):
    assert 0 == main(["webhooks", "deliveries", "pager", "--state", "dead", "--json"])
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ("dead", "bad \x1b[2J") == (row["state"], row["last_error"])
    assert 0 == main(["webhooks", "replay", "pager", "--since", "2001-01-01T00:00:00Z"])
    assert "1 message will be sent again\n" == capsys.readouterr().out
    assert 0 == main(["webhooks", "replay", "group", "--json"])
    assert {"replayed": 0} == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("words", [["list", "x"], ["test"], ["replay"], ["deliveries"]])
def test_a_missing_or_superfluous_id_is_wrong_use(capsys, words):
    assert 2 == main(["webhooks", *words])
    assert "list takes no id" in capsys.readouterr().err


def test_an_endpoint_that_is_not_there_is_an_error(capsys):
    assert 1 == main(["webhooks", "deliveries", "nobody"])
    assert "there is no webhook nobody" in capsys.readouterr().err
