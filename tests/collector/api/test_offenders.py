"""Repeat offenders, and past incidents like one: across jobs, with what people said."""

import pytest

from rankscope.collector.accounting.ledger import CostLedger
from rankscope.collector.accounting.offenders import offenders

AT = 1_700_000_000.0


@pytest.fixture
def named(opened):
    """Return a function that opens an incident naming a device on a host; its id."""

    def make(number, job, **more):
        return opened(identity=f"{number}", jobs=(job,), at=AT + number, **more)

    return make


def _items(client, path, **params):
    answer = client.get(f"/api/v1/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def test_what_is_named_again_in_another_job_is_listed_with_its_record(client, named):
    first, second = named(1, "run-1"), named(2, "run-2")
    rows = _items(client, "offenders")
    assert rows
    for row in rows:
        assert (row["jobs"], row["incidents"]) == (["run-1", "run-2"], 2)
        assert [one["incident"] for one in row["record"]] == [second, first]


def test_what_is_named_once_is_no_repeat(client, named):
    named(1, "run-1")
    assert _items(client, "offenders") == []
    assert _items(client, "offenders", at_least=1)


def test_who_was_named_wrongly_is_not_charged(client, named):
    named(1, "run-1")
    wrong = named(2, "run-2")
    client.post(f"/api/v1/incidents/{wrong}/feedback", json={"verdict": "wrong"})
    assert _items(client, "offenders") == []


def test_what_people_named_instead_is_charged(client, named, store):
    """A loose cable that was taken for three other things is a repeat offender all the same."""
    cable = {"verdict": "wrong", "fault": "network.cable_errors", "entity": "gpu-12/mlx5_0:1"}
    for number in (1, 2, 3):
        incident = named(number, f"run-{number}")
        client.post(f"/api/v1/incidents/{incident}/feedback", json=cable)
    host, port = _items(client, "offenders", at_least=3)
    assert ("host", "gpu-12") == (host["type"], host["id"])
    assert ("nic", "gpu-12/mlx5_0:1", "gpu-12") == (port["type"], port["id"], port["host"])
    assert {"network.cable_errors": 3} == port["faults"]
    again = offenders(CostLedger(store, keep_days=365).rows(AT + 100), at_least=3)
    assert [(row.type, row.id) for row in again] == [("host", "gpu-12"), ("nic", "gpu-12/mlx5_0:1")]


def test_a_host_that_people_named_without_a_fault_is_charged_as_a_host(client, named):
    for number in (1, 2):
        incident = named(number, f"run-{number}")
        body = {"verdict": "wrong", "entity": "gpu-77"}
        client.post(f"/api/v1/incidents/{incident}/feedback", json=body)
    (row,) = _items(client, "offenders")
    assert ("host", "gpu-77", ["run-1", "run-2"]) == (row["type"], row["id"], row["jobs"])


def test_what_people_were_not_sure_of_stays_with_the_first_cause(client, named):
    before = named(1, "run-1"), named(2, "run-2")
    held = [row["id"] for row in _items(client, "offenders")]
    body = {"verdict": "unsure", "entity": "gpu-77"}
    client.post(f"/api/v1/incidents/{before[0]}/feedback", json=body)
    assert held == [row["id"] for row in _items(client, "offenders")]


def test_the_record_is_the_same_after_a_restart(client, named, store):
    named(1, "run-1")
    right = named(2, "run-2")
    client.post(f"/api/v1/incidents/{right}/feedback", json={"verdict": "correct"})
    (live,) = _items(client, "offenders", type="host")
    (again,) = offenders(CostLedger(store, keep_days=365).rows(AT + 100))
    assert live["confirmed"] == 1
    assert [one["incident"] for one in live["record"]] == [row.id for row in again.record]
    assert [one["verdict"] for one in live["record"]] == [row.verdict for row in again.record]


def test_what_was_withdrawn_is_withdrawn_after_a_restart_too(client, named, store):
    named(1, "run-1")
    wrong = named(2, "run-2")
    path = f"/api/v1/incidents/{wrong}/feedback"
    for given in ("correct", "wrong"):
        client.post(path, json={"verdict": given})
    assert client.delete(path).status_code == 200

    def verdict():
        rows = CostLedger(store, keep_days=365).rows(AT + 100)
        return next(row.verdict for row in rows if row.id == wrong)

    assert verdict() == "correct"
    client.delete(path)
    assert verdict() is None


def test_a_past_incident_of_the_same_cause_comes_with_what_was_said_of_it(client, named):
    past, now = named(1, "run-1"), named(2, "run-2")
    body = {"verdict": "correct", "note": "it was the cable", "by": "ann"}
    client.post(f"/api/v1/incidents/{past}/feedback", json=body)
    (row,) = _items(client, f"incidents/{now}/similar")
    assert row["id"] == past
    assert "same cause" in row["reasons"]
    assert row["feedback"][0]["note"] == "it was the cable"


def test_what_came_later_is_no_past_incident(client, named):
    past = named(1, "run-1")
    named(2, "run-2")
    assert _items(client, f"incidents/{past}/similar") == []


def test_similar_incidents_of_other_peoples_jobs_are_left_out(new_client, protected, bearer, named):
    client = new_client(**protected)
    named(1, "other")
    now = named(2, "run-2")
    answer = client.get(f"/api/v1/incidents/{now}/similar", headers=bearer("run-1"))
    assert answer.json()["items"] == []
