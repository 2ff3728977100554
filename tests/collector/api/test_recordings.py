"""An incident's recording over HTTP: OTLP lines, the truth in a header, for whole clusters only."""

import dataclasses
import json

import pytest

from rankscope.collector.recordings import cut
from rankscope.collector.store import IncidentDatabaseStore


@pytest.fixture
def ask(new_services, client_of, recorded, protected, bearer):
    """Return a function that asks for the incident's recording with the token of a role."""
    services = new_services(data_dir=recorded.folder, **protected)
    store = IncidentDatabaseStore(f"sqlite:///{recorded.folder / 'rankscope.db'}")
    client = client_of(dataclasses.replace(services, store=store))

    def get(role, incident=recorded.incident["id"], **params):
        url = f"/api/v1/incidents/{incident}/recording"
        return client.get(url, params=params, headers=bearer(role))

    yield get
    store.close()


def test_it_is_otlp_lines_with_the_truth_in_a_header(ask, recorded):
    answer = ask("read")
    assert (200, "application/x-ndjson") == (answer.status_code, answer.headers["content-type"])
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert {"resourceMetrics"} <= {key for row in rows for key in row}
    truth = json.loads(answer.headers["rankscope-truth"])
    assert recorded.incident["jobs"] == truth["jobs"]


def test_anonymised_no_name_leaves_the_collector(ask, recorded):
    answer = ask("read", anonymise="true")
    text = answer.text + answer.headers["rankscope-truth"]
    assert 200 == answer.status_code
    assert recorded.incident["job"] not in text
    assert "host-0001" in text


def test_a_token_limited_to_jobs_does_not_get_what_hosts_share(ask):
    assert 403 == ask("run-1").status_code
    assert 403 == ask("ingest").status_code


def test_one_recording_is_cut_at_a_time_and_its_end_lets_the_next_begin(ask, monkeypatch):
    answers = []

    def meanwhile(*_arguments, **_more):
        monkeypatch.undo()
        answers.append(ask("read"))
        raise cut.CutError("nothing of it")

    monkeypatch.setattr(cut, "JournalCut", meanwhile)
    assert 404 == ask("read").status_code
    (busy,) = answers
    assert (503, "30") == (busy.status_code, busy.headers["retry-after"])
    assert [200, 200] == [ask("read").status_code for _ in range(2)]


def test_what_is_not_there_is_not_found(ask):
    assert 404 == ask("read", incident="nope").status_code
    assert 400 == ask("read", before_seconds="-1").status_code
