"""Profiles over HTTP: who may ask, what agents get, what comes back, and what is refused."""

import gzip
import json
from urllib.parse import quote

import pytest

TRACE = gzip.compress(
    json.dumps(
        {"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 1e5}]}
    ).encode()
)


@pytest.fixture
def asked(client, send_steps):
    """Return a client and a profile of rank 1 with a peer, both agents asking."""
    send_steps(client)
    for host in ("gpu-1", "gpu-2"):
        assert {"items": []} == client.get(f"/api/v1/agents/{host}/requests").json()
    answer = client.post("/api/v1/profiles", json={"job": "run-1", "ranks": [1], "steps": 2})
    assert 202 == answer.status_code, answer.text
    return client, answer.json()


def sent(client, profile, rank, body=TRACE, **more):
    path = f"/api/v1/profiles/{profile['id']}/ranks/{rank}/trace?steps=2&seconds=0.1"
    return client.request("PUT", path, content=body, **more)


def test_a_suspect_gets_a_peer_on_another_host_and_each_agent_its_own_request(asked):
    client, profile = asked
    assert [(1, "suspect", "gpu-2"), (0, "peer", "gpu-1")] == [
        (row["rank"], row["role"], row["host"]) for row in profile["ranks"]
    ]
    (request,) = client.get("/api/v1/agents/gpu-2/requests").json()["items"]
    assert (profile["id"], "run-1", 1, 2) == tuple(
        request[name] for name in ("id", "job", "rank", "steps")
    )


def test_traces_come_back_are_compared_and_can_be_had_again(asked):
    client, profile = asked
    assert 204 == sent(client, profile, 1).status_code
    assert 204 == sent(client, profile, 0).status_code
    found = client.get(f"/api/v1/profiles/{profile['id']}").json()
    assert "complete" == found["status"]
    assert (1, 0) == (found["comparison"]["suspect"], found["comparison"]["peer"])
    assert TRACE == client.get(found["ranks"][0]["trace"]).content
    listed = client.get("/api/v1/profiles?job=run-1").json()["items"]
    assert [found] == listed


def test_an_agents_refusal_is_shown(asked):
    client, profile = asked
    path = f"/api/v1/profiles/{profile['id']}/ranks"
    for rank in (0, 1):
        answer = client.post(f"{path}/{rank}/failure", json={"text": "no process of that rank"})
        assert 204 == answer.status_code
    found = client.get(f"/api/v1/profiles/{profile['id']}").json()
    assert ("failed", None) == (found["status"], found["comparison"])
    assert 404 == client.get(f"{path}/1/trace").status_code


def test_what_was_not_asked_for_is_refused(asked):
    client, profile = asked
    assert 404 == sent(client, profile, 2).status_code
    assert 404 == sent(client, {"id": "none"}, 1).status_code


NAMES = ["..", "../../outside", "/etc/passwd", "a\0b", "x" * 5000, ".", "%2e%2e%2f",
         "a/../../outside"]  # fmt: skip


def test_an_agent_cannot_name_a_file_by_the_profile_it_answers(asked, tmp_path_factory):
    client, _profile = asked
    root = tmp_path_factory.getbasetemp()
    before = {path for path in root.rglob("*") if "outside" in path.name}
    for name in NAMES:
        answer = sent(client, {"id": quote(name, safe="")}, 1)
        assert 404 == answer.status_code, name
        assert "application/problem+json" == answer.headers["content-type"], name
        trace = client.get(f"/api/v1/profiles/{quote(name, safe='')}/ranks/1/trace")
        assert 404 == trace.status_code, name
    assert before == {path for path in root.rglob("*") if "outside" in path.name}


def test_nor_by_the_rank(asked):
    client, profile = asked
    for rank in ("-1", "..", "1%2f..%2f2", "1%00", "9" * 400, "9" * 5000):
        assert sent(client, profile, rank).status_code in (404, 422), rank


def test_a_trace_over_the_limit_is_refused(new_client, send_steps):
    client = new_client(profiles={"max_trace_bytes": 1 << 16})
    send_steps(client)
    client.get("/api/v1/agents/gpu-1/requests")
    body = {"job": "run-1", "ranks": [0, 1]}
    profile = client.post("/api/v1/profiles", json=body).json()
    assert 413 == sent(client, profile, 0, b"x" * 70_000).status_code


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"job": "run-1", "ranks": []}, 422),
        ({"job": "run-1", "ranks": [9]}, 422),
        ({"job": "run-1", "ranks": [0], "steps": 101}, 422),
        ({"job": "other", "ranks": [0]}, 404),
        ({"job": "run-1", "ranks": [0], "incident": "none"}, 404),
    ],
)
def test_what_cannot_be_profiled_is_said(client, send_steps, body, status):
    send_steps(client)
    assert status == client.post("/api/v1/profiles", json=body).status_code


def test_only_an_admin_of_that_job_asks_and_an_agent_gets_only_what_its_token_is_for(
    new_client, send_steps, protected, bearer
):
    client = new_client(**protected)
    send_steps(client, headers=bearer("admin"))
    send_steps(client, job="other", headers=bearer("admin"))
    client.get("/api/v1/agents/gpu-1/requests", headers=bearer("ingest"))
    body = {"job": "run-1", "ranks": [0, 1]}
    for role, status in (("ingest", 403), ("read", 403), ("run-1", 202), ("admin", 202)):
        answer = client.post("/api/v1/profiles", json=body, headers=bearer(role))
        assert status == answer.status_code, role
    other = {"job": "other", "ranks": [0]}
    assert 403 == client.post("/api/v1/profiles", json=other, headers=bearer("run-1")).status_code
    profile = client.post("/api/v1/profiles", json=other, headers=bearer("admin")).json()
    asked = client.get("/api/v1/agents/gpu-1/requests", headers=bearer("run-1")).json()["items"]
    assert {"run-1"} == {row["job"] for row in asked}
    path = f"/api/v1/profiles/{profile['id']}"
    assert 404 == client.get(path, headers=bearer("run-1")).status_code
    assert 404 == sent(client, profile, 0, headers=bearer("run-1")).status_code
