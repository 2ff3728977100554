"""/incidents/{id}/checks: which check to run, asked of the agent of a host, and what came of it."""

import time
from dataclasses import replace

import pytest
from tests.serving import Answer, served

from rankscope.agent.requests.asking import RequestClient
from rankscope.agent.requests.checking import CheckService
from rankscope.agent.settings import CheckingSettings
from rankscope.alerts.lifecycle import IncidentChange
from rankscope.vocabulary import entities
from rankscope.vocabulary.ids import Fault


@pytest.fixture
def incident(store, new_incident):
    """Return the id of an incident with two causes at one host, which a check tells apart."""
    one = new_incident()
    first = replace(one.root_cause.hypotheses[0], probability=0.5)
    second = replace(
        first, rank=2, fault=Fault("gpu.slow"), probability=0.4,
        entity=entities.gpu("GPU-1", "gpu-1", (3,)),
    )  # fmt: skip
    one = replace(one, root_cause=replace(one.root_cause, hypotheses=(first, second)))
    store.commit([IncidentChange("incident.opened", one, notify=True)], one.updated_at)
    return one.id


@pytest.fixture
def asking(new_client, protected):
    """Return a client of a collector that may ask agents for checks."""
    return new_client(**protected, checks={"requests": True})


def shown(client, bearer, incident):
    answer = client.get(f"/api/v1/incidents/{incident}/checks", headers=bearer("read"))
    assert 200 == answer.status_code, answer.text
    return answer.json()


def wanted(client, bearer, host="gpu-1"):
    answer = client.get(f"/api/v1/agents/{host}/requests?what=checks", headers=bearer("ingest"))
    assert 200 == answer.status_code, answer.text
    return answer.json()["items"]


def result(client, bearer, incident, *, verdict="slow", check="cpu"):
    row = {"check": check, "device": "cpu", "unit": "By/s", "verdict": verdict, "reason": "why"}
    body = {"host": "gpu-1", "incident": incident, "results": [row]}
    assert client.post("/api/v1/checks", headers=bearer("ingest"), json=body).is_success


def test_the_check_that_tells_the_causes_apart_best_comes_with_its_command(
    new_client, protected, bearer, incident
):
    found = shown(new_client(**protected), bearer, incident)
    best = found["next"]
    assert ("cpu", "gpu-1", False) == (best["check"], best["host"], best["requestable"])
    assert best["gain_bits"] > 0
    assert f"ssh gpu-1 rankscope check --incident {incident[:8]}" == best["command"]
    assert ([], []) == (found["requests"], found["results"])


def test_where_the_collector_may_not_ask_it_asks_nobody(new_client, protected, bearer, incident):
    client = new_client(**protected)
    answer = client.post(f"/api/v1/incidents/{incident}/checks", headers=bearer("admin"))
    assert 409 == answer.status_code
    assert "set checks.requests" in answer.text
    assert [] == wanted(client, bearer)


def test_a_request_is_told_to_the_agent_of_its_host_once_and_its_result_ends_it(
    asking, bearer, incident, clock
):
    answer = asking.post(f"/api/v1/incidents/{incident}/checks", headers=bearer("admin"))
    assert 202 == answer.status_code, answer.text
    assert ["waiting"] == [row["status"] for row in answer.json()["requests"]]
    assert [] == wanted(asking, bearer, host="gpu-2")
    (order,) = wanted(asking, bearer)
    assert ("cpu", incident) == (order["check"], order["incident"])
    assert [] == wanted(asking, bearer)
    assert ["running"] == [row["status"] for row in shown(asking, bearer, incident)["requests"]]
    clock.at += 5.0
    result(asking, bearer, incident)
    found = shown(asking, bearer, incident)
    assert [("done", "admin-bot")] == [(row["status"], row["by"]) for row in found["requests"]]
    assert [("cpu", "slow")] == [(row["check"], row["verdict"]) for row in found["results"]]
    assert "cpu" != (found["next"] or {}).get("check")


def test_the_same_check_is_asked_for_once(asking, bearer, incident):
    for _ in range(2):
        asking.post(f"/api/v1/incidents/{incident}/checks", headers=bearer("admin"))
    assert 1 == len(shown(asking, bearer, incident)["requests"])
    assert 1 == len(wanted(asking, bearer))


def test_why_an_agent_runs_none_is_shown(asking, bearer, incident):
    asking.post(f"/api/v1/incidents/{incident}/checks", headers=bearer("admin"))
    (order,) = wanted(asking, bearer)
    path = f"/api/v1/checks/requests/{order['id']}/failure"
    refused = asking.post(path, headers=bearer("ingest"), json={"text": "not this one"})
    assert 204 == refused.status_code, refused.text
    (row,) = shown(asking, bearer, incident)["requests"]
    assert ("failed", "not this one") == (row["status"], row["text"])
    unknown = asking.post(
        "/api/v1/checks/requests/nothing/failure", headers=bearer("ingest"), json={"text": "x"}
    )
    assert 404 == unknown.status_code


@pytest.mark.parametrize(
    ("told", "why"),
    [(False, "set checking.allowed there"), (True, "began with it, and sent no result")],
)
def test_an_agent_that_does_not_answer_is_not_waited_for(
    asking, bearer, incident, clock, told, why
):
    asking.post(f"/api/v1/incidents/{incident}/checks", headers=bearer("admin"))
    if told:
        wanted(asking, bearer)
    clock.at += 3600.0
    (row,) = shown(asking, bearer, incident)["requests"]
    assert "failed" == row["status"]
    assert why in row["text"]
    assert [] == wanted(asking, bearer)


def test_who_may_only_read_or_push_asks_for_nothing(asking, bearer, incident):
    path = f"/api/v1/incidents/{incident}/checks"
    assert [403, 403] == [
        asking.post(path, headers=bearer(role)).status_code for role in ("read", "ingest")
    ]
    assert 404 == asking.get("/api/v1/incidents/none/checks", headers=bearer("read")).status_code


def test_what_cannot_be_run_or_settles_nothing_is_said(asking, bearer, incident, opened):
    path = f"/api/v1/incidents/{incident}/checks"
    tools = asking.post(path, headers=bearer("admin"), json={"check": "tool_memory"})
    assert (422, True) == (tools.status_code, "is a result of other tools" in tools.text)
    other = opened(identity="b2", fault="software.deadlock")
    found = shown(asking, bearer, other)
    assert (None, "no check shows any of its causes") == (found["next"], found["why"])
    assert (
        409 == asking.post(f"/api/v1/incidents/{other}/checks", headers=bearer("admin")).status_code
    )


def test_an_agent_that_may_runs_the_check_and_its_result_is_the_incidents(new_client, incident):
    """The whole way: asked, fetched by the agent over HTTP, run as a child, sent, shown."""
    client = new_client(checks={"requests": True})

    def passed_on(request):
        method = "POST" if request.body else "GET"
        kind = {"content-type": "application/json"}
        answer = client.request(method, request.path, content=request.body, headers=kind)
        return Answer(answer.content, "application/json", answer.status_code)

    path = f"/api/v1/incidents/{incident}/checks"
    asked = client.post(path, json={"check": "clock", "by": "ann"})
    assert 202 == asked.status_code, asked.text
    with served(passed_on) as url:
        CheckService(
            CheckingSettings(allowed=True),
            host="gpu-1",
            collector=RequestClient(url, timeout=20.0),
            environment={"RANKSCOPE_URL": url, "RANKSCOPE_TOKEN": ""},
            now=time.monotonic,
        ).step()
    found = client.get(path).json()
    assert [("clock", "done", "ann")] == [
        (row["check"], row["status"], row["by"]) for row in found["requests"]
    ]
    assert ["clock"] == [row["check"] for row in found["results"]]
