"""Requests about a job are answered by whoever has its partition, or say why nobody does."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from tests import serving

from rankscope.collector.cluster import names
from rankscope.collector.cluster.gateway import PASSED_ON, OwnerGateway
from rankscope.collector.cluster.owners import PartitionLocation, asked

PARTITIONS = 4


class Stages:
    """Says who owns which partition."""

    partitions = PARTITIONS

    def __init__(self) -> None:
        self.found = PartitionLocation(True, True, "")
        self.by_partition: dict[int, PartitionLocation] = {}
        self.addresses: list[str] = []
        self.hosts: dict[str, frozenset[int]] = {}

    def find(self, partition: int) -> PartitionLocation:
        return self.by_partition.get(partition, self.found)

    def others(self) -> list[str]:
        return self.addresses

    def partitions_of_host(self, host: str) -> frozenset[int]:
        return self.hosts.get(host, frozenset((names.of_host(host, self.partitions),)))


async def _answer(request: Request) -> JSONResponse:
    rows = [{"host": "here", "last_received": "1", "ranks": {"run-1": 4}}]
    if request.url.path == "/api/v1/hosts":
        return JSONResponse({"items": rows, "next_cursor": None})
    if request.url.path == "/api/v1/hosts/shared":
        return JSONResponse(_host("1", {"run-1": [0]}, "GPU-0"))
    if request.method == "POST":
        return JSONResponse({"asked": asked.get(), "bytes": len(await request.body())})
    return JSONResponse({"asked": asked.get()})


def _host(received: str, ranks: dict[str, list[int]], hw_id: str) -> dict[str, Any]:
    devices = [{"hw_id": hw_id, "job": next(iter(ranks)), "rank": 0, "readings": []}]
    return {"last_received": received, "ranks": ranks, "readings": [], "devices": devices}


@pytest.fixture
def stages():
    return Stages()


@pytest.fixture
def get(stages):
    """Return a function that asks a collector."""
    routes = [Route("/{path:path}", _answer, methods=["GET", "POST"])]
    app = OwnerGateway(Starlette(routes=routes), stages)

    def ask(path: str, method: str = "GET", **more: Any) -> httpx.Response:
        async def asking() -> httpx.Response:
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return await client.request(method, path, **more)

        return asyncio.run(asking())

    return ask


@pytest.fixture
def other():
    """Run another collector; return its address and the requests that it got."""
    got: list[tuple[str, dict[str, str]]] = []

    def answer(request: serving.Request) -> serving.Answer:
        if request.body:
            got.append((request.path, {**request.headers, "body": request.body.decode()}))
            return serving.Answer(status=202)
        got.append((request.path, dict(request.headers)))
        body = b'{"items": [{"host": "there", "last_received": "2", "ranks": {}}]}'
        if request.path == "/api/v1/hosts/shared":
            body = json.dumps(_host("2", {"run-2": [4]}, "GPU-1")).encode()
        return serving.Answer(body, "application/json")

    with serving.served(answer) as address:
        yield address, got


@pytest.mark.parametrize(
    "path",
    ["/api/v1/jobs/run%2F1/ranks", "/api/v1/topology?job=run/1", "/api/v1/root-cause?job=run%2F1"],
)
def test_a_job_that_is_evaluated_here_is_answered_by_its_partition(get, path):
    assert get(path).json() == {"asked": names.of_job("run/1", PARTITIONS)}


@pytest.mark.parametrize("path", ["/api/v1/incidents", "/api/v1/jobs", "/metrics", "/v1/metrics"])
def test_what_every_collector_has_is_answered_here(get, path):
    assert get(path).json() == {"asked": None}


def test_a_job_of_another_collector_is_asked_of_it_with_the_caller_s_token(get, stages, other):
    address, got = other
    stages.found = PartitionLocation(False, True, address)
    answer = get("/api/v1/jobs/run-1/ranks?limit=3", headers={"authorization": "Bearer x"})
    assert answer.json()["items"][0]["host"] == "there"
    ((path, headers),) = got
    assert path == "/api/v1/jobs/run-1/ranks?limit=3"
    assert headers["authorization"] == "Bearer x"
    assert headers[PASSED_ON] == "1"


@pytest.mark.parametrize(
    "found",
    [
        PartitionLocation(False, True, ""),
        PartitionLocation(True, False, ""),
        PartitionLocation(False, True, "http://127.0.0.1:9"),
    ],
)
def test_while_a_partition_moves_the_answer_says_so_and_when_to_ask_again(get, stages, found):
    stages.found = found
    answer = get("/api/v1/jobs/run-1")
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert answer.headers["content-type"] == "application/problem+json"


def test_what_was_passed_on_is_not_passed_on_again(get, stages, other):
    address, got = other
    stages.found = PartitionLocation(False, True, address)
    assert get("/api/v1/jobs/run-1", headers={PASSED_ON: "1"}).status_code == 503
    assert got == []


def test_the_list_of_hosts_is_that_of_all_collectors(get, stages, other):
    address, _ = other
    stages.addresses = [address]
    found = get("/api/v1/hosts?limit=5").json()
    assert [row["host"] for row in found["items"]] == ["here", "there"]
    assert [row["host"] for row in get("/api/v1/hosts?limit=1").json()["items"]] == ["here"]


def test_a_collector_that_does_not_answer_leaves_the_others_hosts(get, stages):
    stages.addresses = ["http://127.0.0.1:9"]
    assert [row["host"] for row in get("/api/v1/hosts").json()["items"]] == ["here"]


def test_a_host_with_jobs_of_two_collectors_is_answered_with_what_both_have(get, stages, other):
    address, got = other
    stages.hosts["shared"] = frozenset((0, 1))
    stages.by_partition = {1: PartitionLocation(False, True, address)}
    found = get("/api/v1/hosts/shared").json()
    assert found["ranks"] == {"run-1": [0], "run-2": [4]}
    assert [row["hw_id"] for row in found["devices"]] == ["GPU-0", "GPU-1"]
    assert found["last_received"] == "2"
    assert [path for path, _ in got] == ["/api/v1/hosts/shared"]


def test_a_host_that_is_asked_for_by_another_collector_is_answered_with_what_is_here(
    get, stages, other
):
    address, got = other
    stages.hosts["shared"] = frozenset((0, 1))
    stages.by_partition = {1: PartitionLocation(False, True, address)}
    found = get("/api/v1/hosts/shared", headers={PASSED_ON: "1"}).json()
    assert found["ranks"] == {"run-1": [0]}
    assert got == []


def test_who_asks_for_a_profile_is_answered_by_the_owner_of_the_job(get, stages, other):
    address, got = other
    stages.found = PartitionLocation(False, True, address)
    body = {"job": "run-1", "ranks": [3]}
    assert get("/api/v1/profiles", method="POST", json=body).status_code == 202
    ((path, headers),) = got
    assert path == "/api/v1/profiles"
    assert headers["content-type"] == "application/json"
    assert headers["body"] == '{"job":"run-1","ranks":[3]}'


@pytest.mark.parametrize("body", [b"{}", b"nonsense", b'{"job": 3}', b"", b"x" * 100_000])
def test_a_body_that_names_no_job_is_answered_here(get, body):
    answer = get("/api/v1/profiles", method="POST", content=body)
    assert answer.json() == {"asked": None, "bytes": len(body)}
