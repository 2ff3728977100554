"""Priors over HTTP: feedback moves them, withdrawing and a reset move them back."""

import pytest
from tests.waiting import until

from rankscope.collector.api import entering


@pytest.fixture
def shares(client):
    """Return a function that gives the shares of a fault: (catalogue, learnt, confirmed)."""

    def ask(fault):
        found = client.get("/api/v1/priors").json()
        (row,) = [row for row in found["items"] if row["fault"] == fault]
        return row["catalogue"], row["learnt"], row["confirmed"]

    return ask


def test_feedback_raises_the_share_and_withdrawing_it_lowers_it_again(client, opened, shares):
    identity = opened()
    before = shares("host.cpu_contention")
    assert (before[0], 0) == before[1:]
    answer = client.post(f"/api/v1/incidents/{identity}/feedback", json={"verdict": "correct"})
    assert "confirmed" == answer.json()["root_cause"]["status"]
    catalogue, learnt, confirmed = shares("host.cpu_contention")
    assert learnt > catalogue
    assert 1 == confirmed
    answer = client.delete(f"/api/v1/incidents/{identity}/feedback")
    assert (200, []) == (answer.status_code, answer.json()["handling"]["feedback"])
    assert "confirmed" != answer.json()["root_cause"]["status"]
    assert before == shares("host.cpu_contention")


def test_it_was_the_cable(client, opened, shares):
    identity = opened()
    body = {"verdict": "wrong", "fault": "network.cable_errors", "entity": "gpu-1/mlx5_0:1"}
    client.post(f"/api/v1/incidents/{identity}/feedback", json=body)
    assert 1 == shares("network.cable_errors")[2]
    assert shares("host.cpu_contention")[0] > shares("host.cpu_contention")[1]


def test_a_reset_gives_the_catalogue_back(client, opened, shares):
    identity = opened()
    client.post(f"/api/v1/incidents/{identity}/feedback", json={"verdict": "correct"})
    answer = client.post("/api/v1/priors/reset", json={"by": "ada", "note": "new racks"})
    assert (200, 0) == (answer.status_code, answer.json()["incidents"])
    assert 0 == shares("host.cpu_contention")[2]


def test_a_reset_that_evaluation_has_not_reached_yet_answers_with_what_it_will_leave(
    client_of, new_services, opened, monkeypatch
):
    monkeypatch.setattr(entering, "WAIT_SECONDS", 0.0)
    services = new_services()
    client = client_of(services)
    identity = opened()
    body = {"verdict": "correct"}
    client.post(f"/api/v1/incidents/{identity}/feedback", json=body)
    until(lambda: client.get("/api/v1/priors").json()["incidents"], "the feedback")

    services.stages.stages.consumer.stop()  # evaluation is so far behind that it does not get there
    answer = client.post("/api/v1/priors/reset")
    assert (202, 0) == (answer.status_code, answer.json()["incidents"])
    assert all(row["learnt"] == row["catalogue"] for row in answer.json()["items"])
    assert 1 == client.get("/api/v1/priors").json()["incidents"]


def test_reading_needs_a_reader_and_resetting_an_admin_for_every_job(new_client, protected, bearer):
    client = new_client(**protected)
    reset, read = "/api/v1/priors/reset", "/api/v1/priors"
    assert 200 == client.get(read, headers=bearer("read")).status_code
    assert 403 == client.get(read, headers=bearer("run-1")).status_code
    assert 403 == client.post(reset, headers=bearer("read")).status_code
    assert 403 == client.post(reset, headers=bearer("run-1")).status_code
    assert 200 == client.post(reset, headers=bearer("admin")).status_code
