"""`rankscope mcp` between a real collector and a real MCP client, over stdio and over HTTP."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx
import pytest

pytest.importorskip("mcp", reason="the mcp extra is not installed")

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from rankscope.alerts.causes import runbook_pages
from rankscope.cli.assistant import server
from rankscope.vocabulary import faults

TOKENS = {
    "read": "read-token-0123456789abc",
    "ingest": "ingest-token-0123456789",
    "other": "other-token-0123456789ab",
}
TOOLS = {
    "list_incidents",
    "get_incident",
    "root_cause",
    "list_jobs",
    "series",
    "topology",
    "runbook",
}


@contextmanager
def running(*words, says):
    """Run a verb; give what its line with `says` says. It is ended afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rankscope.cli.main", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    ended = threading.Timer(60, process.kill)
    ended.start()
    try:
        assert process.stdout is not None
        found = next((match for line in process.stdout if (match := re.search(says, line))), None)
        ended.cancel()
        assert found is not None, "it ended without listening"
        yield found[1]
    finally:
        ended.cancel()
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def collector(recorded, tmp_path_factory):
    """Run a collector with tokens over the recorded data; return its address."""
    folder = tmp_path_factory.mktemp("mcp")
    shutil.copytree(recorded.folder, folder / "data")
    tokens = [
        {"token": TOKENS["read"], "role": "read"},
        {"token": TOKENS["ingest"], "role": "ingest"},
        {"token": TOKENS["other"], "role": "read", "jobs": ["other-*"]},
    ]
    settings = {
        "data_dir": str(folder / "data"),
        "http": {"listen": "127.0.0.1:0"},
        "api": {"tokens": tokens},
    }
    file = folder / "collector.yaml"
    file.write_text(json.dumps(settings))
    with running("collector", "--config", str(file), says=r"listens on (\S+)") as address:
        yield address


@pytest.fixture(scope="module")
def over_http(collector):
    """Run the MCP server over HTTP; return its address."""
    words = ("mcp", "--http", "127.0.0.1:0", "--url", collector)
    with running(*words, says=r"listens on (\S+)") as address:
        yield address


@pytest.fixture(params=[pytest.param("stdio", marks=pytest.mark.long), "http"])
def connected(request, collector):
    """Return a function that runs a coroutine with a client that has the token of a role."""

    def run(use, role="read"):
        async def over_stdio():
            words = ["-m", "rankscope.cli.main", "mcp", "--url", collector]
            words += ["--token", TOKENS[role]] if role else []
            async with Client(StdioServerParameters(command=sys.executable, args=words)) as client:
                return await use(client)

        async def by_http(url):
            headers = {"authorization": f"Bearer {TOKENS[role]}"} if role else {}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=120) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                return await use(client)

        if request.param == "stdio":
            return asyncio.run(over_stdio())
        return asyncio.run(by_http(request.getfixturevalue("over_http")))

    return run


def content(result):
    assert not result.is_error, result.content
    return result.structured_content


def test_every_tool_is_read_only(connected):
    async def use(client):
        return (await client.list_tools()).tools

    tools = connected(use)
    assert TOOLS == {tool.name for tool in tools}
    assert all(tool.annotations.read_only_hint for tool in tools)


@pytest.mark.parametrize("connected", ["stdio", "http"], indirect=True)
def test_an_assistant_reads_an_incident_and_its_cause(connected, recorded):
    async def use(client):
        listed = content(await client.call_tool("list_incidents", {"limit": 50}))
        identity = next(
            row["id"] for row in listed["incidents"] if row["id"] == recorded.incident["id"]
        )
        return listed, content(await client.call_tool("get_incident", {"incident": identity}))

    listed, document = connected(use)
    assert recorded.incident["root_cause"] == document["root_cause"]
    causes = {row["id"]: row["first_cause"]["fault"] for row in listed["incidents"]}
    first = recorded.incident["root_cause"]["hypotheses"][0]
    assert first["fault"] == causes[recorded.incident["id"]]


def test_jobs_series_topology_and_a_stretch_of_time(connected, recorded):
    job = recorded.incident["job"]

    async def use(client):
        jobs = content(await client.call_tool("list_jobs", {}))
        metric = {"job": job, "metric": "training.step.duration", "rank": 0}
        series = content(await client.call_tool("series", metric))
        nodes = content(await client.call_tool("topology", {"job": job}))
        span = {
            "job": job,
            "start": recorded.incident["opened_at"],
            "end": recorded.incident["updated_at"],
        }
        cause = content(await client.call_tool("root_cause", span))
        return jobs, series, nodes, cause

    jobs, series, nodes, cause = connected(use)
    assert job in {row["job"] for row in jobs["jobs"]}
    assert [0] == [row["rank"] for row in series["series"]]
    assert "host" in {row["type"] for row in nodes["nodes"]}
    assert "hypotheses" in cause


def test_runbooks_are_a_tool_and_a_resource(connected):
    async def use(client):
        tool = content(await client.call_tool("runbook", {"fault": "gpu.lost"}))
        page = await client.read_resource("rankscope://runbooks/gpu.lost")
        return tool["result"], page.contents[0].text

    tool, page = connected(use)
    assert tool == page
    assert page.startswith("# gpu.lost: ")


def test_limits_of_a_token_hold(connected, recorded):
    async def use(client):
        listed = content(await client.call_tool("list_incidents", {}))
        one = await client.call_tool("get_incident", {"incident": recorded.incident["id"]})
        other = await client.call_tool("topology", {"job": recorded.incident["job"]})
        return listed, one, other

    listed, one, other = connected(use, "other")
    assert [] == listed["incidents"]
    assert (True, True) == (one.is_error, other.is_error)
    assert "there is no incident" in one.content[0].text
    assert "this token is not for job" in other.content[0].text


@pytest.mark.parametrize(("role", "says"), [("ingest", "needs a token"), (None, "Bearer TOKEN")])
def test_a_token_that_may_not_read_gets_an_error_that_says_so(connected, role, says):
    async def use(client):
        return await client.call_tool("list_jobs", {})

    result = connected(use, role)
    assert result.is_error
    assert says in result.content[0].text


def test_a_runbook_that_is_not_there_is_an_error(connected):
    async def use(client):
        tool = await client.call_tool("runbook", {"fault": "gpu.lots"})
        with pytest.raises(MCPError, match="there is no runbook"):
            await client.read_resource("rankscope://runbooks/gpu.lots")
        return tool

    result = connected(use)
    assert result.is_error
    assert "gpu.lost" in result.content[0].text


def test_over_http_a_page_of_another_site_is_refused(over_http):
    """A name of its own that points at 127.0.0.1 must not let a page ask with a browser here."""
    answer = httpx.post(over_http, json={}, headers={"host": "evil.example"})
    assert 421 == answer.status_code


def test_every_fault_of_the_catalogue_has_its_page_in_the_package():
    assert {str(fault) for fault in faults.catalogue()} <= set(runbook_pages.names())


def test_over_http_the_servers_own_token_is_never_used():
    connect = server.connecting("http://127.0.0.1:1", "secret", over_http=True)
    assert connect({})._token is None
    assert connect({"authorization": "Basic secret"})._token is None
    assert "abc" == connect({"authorization": "bearer abc"})._token
