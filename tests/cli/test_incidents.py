"""`rankscope incidents` and `rankscope explain` against a running collector."""

import json

import pytest

from rankscope.alerts.lifecycle import IncidentChange
from rankscope.cli import asking
from rankscope.cli.main import main
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.vocabulary import entities
from rankscope.vocabulary.ids import Fault, IncidentId
from rankscope.vocabulary.incidents import (
    DataQuality,
    Hypothesis,
    Impact,
    Incident,
    RootCause,
    Symptom,
    UnknownScore,
)

TOKEN = "read-token-0123456789"


def _incident(identity, *, job="run-1", severity="critical", at=1_700_000_000.0):
    host = entities.host("gpu-1", (3,))
    cause = Hypothesis(
        1, Fault("host.cpu_contention"), host, 4.2, None, "high", (), (), "docs/runbooks/host.md"
    )
    return Incident(
        id=IncidentId(identity.ljust(20, "0")),
        jobs=(job,),
        attempt=0,
        cluster=None,
        status="open",
        severity=severity,
        opened_at=at,
        detected_at=at,
        updated_at=at,
        resolved_at=None,
        summary="slow",
        symptoms=(Symptom("job.slow", entities.rank(3, "gpu-1"), at, 1.5, "stragglers", "slow"),),
        root_cause=RootCause(
            "stable", "e", "1", (cause,), UnknownScore(0.0, ()), (), DataQuality((), 0.0, 1.0)
        ),
        impact=Impact(8, 2, 1.5, 100.0),
    )


@pytest.fixture(scope="module")
def collector(tmp_path_factory, serving):
    """Return the address of a running collector that wants a token and holds three incidents."""
    settings = CollectorSettings.model_validate(
        {
            "data_dir": tmp_path_factory.mktemp("data"),
            "http": {"listen": "127.0.0.1:0"},
            "api": {"tokens": [{"token": TOKEN, "role": "read"}]},
        }
    )
    store = IncidentDatabaseStore(settings.store_url)
    rows = [
        _incident("aaaa1"),
        _incident("aaaa2", severity="warning", at=1_700_000_001.0),
        _incident("bbbb1", job="evil\x1b[2J\njob", at=1_700_000_002.0),
    ]
    store.commit([IncidentChange("incident.opened", row, notify=True) for row in rows], 0.0)
    store.close()
    with serving(settings) as address:
        yield address


@pytest.fixture(autouse=True)
def _environment(monkeypatch, collector):
    monkeypatch.setenv("RANKSCOPE_URL", collector)
    monkeypatch.setenv("RANKSCOPE_TOKEN", TOKEN)


def test_incidents_are_listed_in_columns_newest_first(capsys):
    assert main(["incidents"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["ID", "STATUS", "SEVERITY"]
    assert [line.split()[0][:5] for line in lines] == ["bbbb1", "aaaa2", "aaaa1"]
    assert "2023-11-14 22:13:20" in lines[-1]
    assert lines[-1].endswith("host.cpu_contention  host gpu-1")


def test_names_of_others_do_not_command_the_terminal(capsys):
    assert main(["incidents"]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "evil\\x1b[2J\\njob" in text


def test_json_is_one_document_a_line(capsys):
    assert main(["incidents", "--json", "--severity", "critical", "--limit", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["id"].startswith("bbbb1")


def test_no_incident_is_an_answer(capsys):
    assert main(["incidents", "--status", "resolved"]) == 0
    assert capsys.readouterr().out == "no incident\n"
    assert main(["incidents", "--status", "resolved", "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_every_page_is_followed():
    source = asking.CollectorClient.of(_arguments())
    assert len(list(source.every("incidents", limit=1))) == 3


def _arguments():
    import argparse  # noqa: PLC0415

    return argparse.Namespace(url=None, token=None)


@pytest.mark.parametrize("name", ["aaaa1".ljust(20, "0"), "aaaa1", "bbbb"])
def test_one_incident_is_explained_by_its_id_or_a_beginning_of_it(capsys, name):
    assert main(["explain", name]) == 0
    report = capsys.readouterr().out
    assert "host.cpu_contention" in report
    assert main(["explain", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"].startswith(name)


@pytest.mark.parametrize(
    ("name", "text"),
    [("aaaa", "the beginning of several"), ("cccc", "no incident"), ("../jobs", "no incident")],
)
def test_an_id_that_is_not_one_incidents_is_an_error(capsys, name, text):
    assert main(["explain", name]) == 1
    assert text in capsys.readouterr().err


def test_a_missing_token_is_said_with_how_to_give_it(capsys, monkeypatch):
    monkeypatch.delenv("RANKSCOPE_TOKEN")
    assert main(["incidents"]) == 1
    assert "--token or RANKSCOPE_TOKEN" in capsys.readouterr().err
    assert main(["incidents", "--token", TOKEN]) == 0


def test_a_collector_that_is_not_there_is_named(capsys):
    assert main(["incidents", "--url", "http://127.0.0.1:9"]) == 1
    assert "no collector answers at http://127.0.0.1:9" in capsys.readouterr().err
    assert main(["incidents", "--url", "nonsense"]) == 1
    assert "write http://HOST:8470" in capsys.readouterr().err


def test_a_bad_filter_is_named_by_the_collector(capsys):
    assert main(["incidents", "--fault", "gpu.tired"]) == 1
    assert "there is no fault 'gpu.tired'" in capsys.readouterr().err
