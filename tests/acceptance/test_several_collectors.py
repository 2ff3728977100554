"""docs/several-collectors.md as a reader follows it: from one collector with files to three as one.

The files and commands are the page's; only addresses, folders and, where all runs on one machine,
each process's own are put in the place of the page's. NATS, PostgreSQL and haproxy are real.
"""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import PATIENCE_SECONDS, until

from bench.cluster.box import SECRET
from bench.cluster.nats_servers import program as nats_server
from bench.cluster.takeovers import partitions
from bench.soak.load import payload
from bench.soak.receiver import MessageReceiver
from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port
from rankscope.vocabulary.times import rfc3339

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

PAGE = Path(__file__).parents[2].joinpath("docs", "several-collectors.md").read_text("utf-8")
JOBS = ("seen", "unseen")
"""The incident of the first is acknowledged by a person before the move."""
NAN_FROM, STEP_SECONDS = 4, 0.5

Replaced = dict[str, str]


def files() -> dict[str, str]:
    """Return the files that the page shows, by the name in their first line."""
    found = re.findall(r"^```\n# ([\w.]+)(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return {name: f"#{rest}" for name, rest in found}


def commands() -> list[str]:
    """Return the page's blocks of commands, in order; what is installed already is left out."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    return [
        "\n".join(line.strip() for line in block.splitlines() if "pip install" not in line)
        for block in blocks
    ]


def replaced(text: str, words: Replaced) -> str:
    """Put addresses of this machine in the place of the page's; each must be there."""
    for old, new in words.items():
        assert old in text, f"the page does not have {old}"
        text = text.replace(old, new)
    return text


class Agents(threading.Thread):
    """Send the jobs' telemetry, and each payload again until it is taken."""

    def __init__(self, client: DemoClient) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.over = threading.Event()

    def run(self) -> None:
        for step in itertools.count(1):
            if self.over.wait(STEP_SECONDS):
                return
            bodies = [payload(job, step, time.time(), range(NAN_FROM, 10_000)) for job in JOBS]
            for body in bodies:
                while not self._sent(body) and not self.over.wait(0.2):
                    pass

    def _sent(self, body: bytes) -> bool:
        try:
            return 200 == self.client.send("/v1/metrics", body, "application/x-protobuf")
        except OSError:
            return False


class Reader:
    """Somebody who follows the page in one folder, on one machine."""

    def __init__(self, folder: Path, processes: DemoProcesses, environ: dict[str, str]) -> None:
        self.folder = folder
        self._processes = processes
        self._environ = environ

    def write(self, name: str, words: Replaced, at: str = ".") -> None:
        """Write one of the page's files."""
        (self.folder / at).mkdir(exist_ok=True)
        (self.folder / at / name).write_text(replaced(files()[name], words), encoding="utf-8")

    def run(self, block: str, words: Replaced) -> str:
        """Run a block of commands to its end; return what it printed."""
        done = subprocess.run(
            ["sh", "-ec", replaced(block, words)], cwd=self.folder, env=self._environ, text=True,
            capture_output=True, timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
        assert 0 == done.returncode, done.stderr
        return done.stdout

    def start(self, name: str, block: str, words: Replaced, at: str = ".", **environ: str) -> Any:
        """Start a block of commands of which the last one runs on."""
        *before, last = replaced(block, words).splitlines()
        script = "\n".join((f"cd {self.folder / at}", *before, f"exec {last}"))
        return self._processes.start(
            name, ["sh", "-ec", script], environ={**self._environ, **environ}
        )

    def collector(self, name: str, block: str, words: Replaced) -> tuple[Any, DemoClient]:
        """Start a collector with a folder and an address of its own; return once it is ready."""
        listen = f"127.0.0.1:{free_port()}"
        mine = {
            "RANKSCOPE_DATA_DIR": str(self.folder / name),
            "RANKSCOPE_HTTP__LISTEN": listen,
        }
        process = self.start(name, block, words, **mine)
        client = DemoClient(f"http://{listen}")
        until(client.ready, f"{name} to be ready", more=process.log.read_text)
        return process, client


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[MessageReceiver]:
    one = MessageReceiver(tmp_path / "messages.jsonl", SECRET)
    yield one
    one.stop()


@pytest.fixture
def reader(tmp_path, receiver, program) -> Iterator[Reader]:
    """Return a reader whose shell finds the page's programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in (
        ("rankscope", f"{sys.executable} -m rankscope.cli.main"),
        ("python", sys.executable),
        ("nats-server", nats_server()),
    ):
        programs.joinpath(name).write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        programs.joinpath(name).chmod(0o755)
    settings = {"webhooks": [{"name": "page", "url": receiver.url, "secret": SECRET}]}
    tmp_path.joinpath("collector.yaml").write_text(json.dumps(settings), encoding="utf-8")
    path = os.pathsep.join((str(programs), str(Path(program("haproxy")).parent), os.defpath))
    with DemoProcesses(tmp_path) as processes:
        yield Reader(tmp_path, processes, {**clean_environment(), "PATH": path})


@pytest.fixture
def new_agents() -> Iterator[Callable[[DemoClient], Agents]]:
    """Return a function that lets agents send to a collector, until the test ends."""
    made: list[Agents] = []

    def new(client: DemoClient) -> Agents:
        made.append(Agents(client))
        made[-1].start()
        return made[-1]

    yield new
    for agents in made:
        agents.over.set()
        agents.join()


def incidents(client: DemoClient) -> dict[str, tuple[str, str]]:
    """Return (id, status) of the incident of each job; a second one of a job is an error."""
    found = until(lambda: client.ask("/api/v1/incidents?limit=100"), "the incidents")["items"]
    assert len({row["job"] for row in found}) == len(found), found
    return {row["job"]: (row["id"], row["status"]) for row in found}


def acknowledge(client: DemoClient, incident: str) -> None:
    body, path = b'{"by": "somebody", "note": "on it"}', f"/api/v1/incidents/{incident}/ack"
    until(lambda: client.send(path, body, "application/json") in {200, 202}, "the acknowledgement")


def pages(receiver: MessageReceiver) -> list[tuple[str, str]]:
    """Return (job, webhook-id) of each message that says that an incident was opened."""
    rows = {(row.job, row.webhook_id) for row in receiver.messages if row.type == "incident.opened"}
    return sorted(rows)


def owners(clients: list[DemoClient]) -> list[int]:
    """Return how many partitions each collector owns, of those that own any."""
    ports = [int(one.address.rpartition(":")[2]) for one in clients]
    return [owned for owned, recovering in map(partitions, ports) if owned and not recovering]


def start_nats(reader: Reader, block: str) -> str:
    """Start the page's three servers; return what the page's log.url becomes."""
    clients, routes = ([free_port() for _ in range(3)] for _ in range(2))
    names = [f"nats-{number}" for number in (1, 2, 3)]
    among = {
        f"//{name}:6222": f"//127.0.0.1:{port}" for name, port in zip(names, routes, strict=True)
    }
    for number, name in enumerate(names):
        reader.write(
            "nats.conf",
            {
                "server_name: nats-1": f"server_name: {name}",
                "0.0.0.0:4222": f"127.0.0.1:{clients[number]}",
                "0.0.0.0:6222": f"127.0.0.1:{routes[number]}",
                "/var/lib/nats": str(reader.folder / name / "data"),
                **among,
            },
            at=name,
        )
        reader.start(name, block, {}, at=name)
    return ",".join(f"nats://127.0.0.1:{port}" for port in clients)


def test_from_files_to_jetstream_an_open_incident_goes_on_and_nobody_is_paged_again(
    reader, receiver, new_agents, postgresql
):
    nats, new, copying, haproxy = commands()
    old = new.splitlines()[-1]
    page_nats = "nats://nats-1:4222,nats://nats-2:4222,nats://nats-3:4222"
    page_database = "postgresql://rankscope@db.example/rankscope"

    single, client = reader.collector("single", old, {})
    agents = new_agents(client)
    until(lambda: set(JOBS) == set(incidents(client)), "an incident of each job")
    until(lambda: len(pages(receiver)) == len(JOBS), "a message of each incident")
    acknowledge(client, incidents(client)["seen"][0])
    before = until(
        lambda: (found := incidents(client))["seen"][1] == "acknowledged" and found,
        "a stored acknowledgement",
    )
    paged = pages(receiver)

    # 1 to 3
    servers = start_nats(reader, nats)
    database = postgresql.new()
    os.killpg(single.handle.pid, signal.SIGTERM)
    single.handle.wait(PATIENCE_SECONDS)
    copied = reader.run(
        copying,
        {
            "/var/lib/rankscope/": f"{reader.folder}/single/",
            page_database: f"'{database}'",
        },
    )
    assert f"incidents: {len(JOBS)} rows" in copied

    # 4 and 5
    moved_at = rfc3339(time.time())
    words = {page_nats: servers, page_database: f"'{database}'"}
    clients = [reader.collector(f"new-{number}", new, words)[1] for number in (1, 2, 3)]
    balanced = free_port()
    listens = {
        f"10.0.0.{number}:8470": one.address.removeprefix("http://")
        for number, one in enumerate(clients, start=7)
    }
    reader.write("haproxy.cfg", {"0.0.0.0:8470": f"127.0.0.1:{balanced}", **listens})
    reader.start("haproxy", haproxy, {})
    agents.client = DemoClient(f"http://127.0.0.1:{balanced}")
    until(agents.client.ready, "a collector behind the load balancer")

    def went_on() -> bool:
        found = clients[0].ask("/api/v1/incidents?limit=100")
        return bool(found) and all(row["updated_at"] > moved_at for row in found["items"])

    until(went_on, "incidents that go on")
    until(lambda: 3 == len(owners(clients)), "partitions of each collector")
    assert [before] * 3 == [incidents(one) for one in clients]
    assert paged == pages(receiver)
