"""Requests about a job are answered by whoever has its partition, or say why nobody does."""

import asyncio
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from tests import serving

from rankscope.collector.cluster import names
from rankscope.collector.cluster.gateway import PASSED_ON, Gateway
from rankscope.collector.cluster.stages import Found, asked

PARTITIONS = 4


class Stages:
    """Says who owns which partition."""

    partitions = PARTITIONS

    def __init__(self) -> None:
        self.found = Found(True, True, "")
        self.addresses: list[str] = []

    def find(self, partition: int) -> Found:
        return self.found

    def others(self) -> list[str]:
        return self.addresses

    def partition_of_host(self, host: str) -> int:
        return names.of_host(host, self.partitions)


async def _answer(request: Request) -> JSONResponse:
    rows = [{"host": "here", "last_received": "1", "ranks": {"run-1": 4}}]
    if request.url.path == "/api/v1/hosts":
        return JSONResponse({"items": rows, "next_cursor": None})
    return JSONResponse({"asked": asked.get()})


@pytest.fixture
def stages():
    return Stages()


@pytest.fixture
def get(stages):
    """Return a function that asks a collector."""
    routes = [Route("/{path:path}", _answer, methods=["GET", "POST"])]
    app = Gateway(Starlette(routes=routes), stages)

    def ask(path: str, **more: Any) -> httpx.Response:
        async def asking() -> httpx.Response:
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return await client.get(path, **more)

        return asyncio.run(asking())

    return ask


@pytest.fixture
def other():
    """Run another collector; return its address and the requests that it got."""
    got: list[tuple[str, dict[str, str]]] = []

    def answer(request: serving.Request) -> serving.Answer:
        got.append((request.path, dict(request.headers)))
        return serving.Answer(
            b'{"items": [{"host": "there", "last_received": "2", "ranks": {}}]}',
            "application/json",
        )

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
    stages.found = Found(False, True, address)
    answer = get("/api/v1/jobs/run-1/ranks?limit=3", headers={"authorization": "Bearer x"})
    assert answer.json()["items"][0]["host"] == "there"
    ((path, headers),) = got
    assert path == "/api/v1/jobs/run-1/ranks?limit=3"
    assert headers["authorization"] == "Bearer x"
    assert headers[PASSED_ON] == "1"


@pytest.mark.parametrize(
    "found",
    [Found(False, True, ""), Found(True, False, ""), Found(False, True, "http://127.0.0.1:9")],
)
def test_while_a_partition_moves_the_answer_says_so_and_when_to_ask_again(get, stages, found):
    stages.found = found
    answer = get("/api/v1/jobs/run-1")
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert answer.headers["content-type"] == "application/problem+json"


def test_what_was_passed_on_is_not_passed_on_again(get, stages, other):
    address, got = other
    stages.found = Found(False, True, address)
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


def test_what_needs_the_files_of_one_collector_says_so(get):
    assert get("/api/v1/profiles").status_code == 501
