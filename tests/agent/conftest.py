"""Real parts to test an agent against: a folder for sockets, a collector's intake, trainers."""

import contextlib
import gzip
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from tests import waiting

from rankscope.agent import service
from rankscope.agent.health import AgentHealth
from rankscope.agent.settings import AgentSettings
from rankscope.agent.spool import DiskSpool


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder whose path is short enough for a Unix socket."""
    path = Path(tempfile.mkdtemp(prefix="rs-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def until() -> Callable[..., object]:
    """Return a wait: `until(question)` returns its first true answer."""
    return waiting.until


@pytest.fixture
def health() -> AgentHealth:
    return AgentHealth()


@pytest.fixture
def spool(tmp_path: Path, health: AgentHealth) -> Iterator[DiskSpool]:
    one = DiskSpool(tmp_path / "spool", max_bytes=64 << 20, health=health)
    yield one
    one.close()


@dataclass
class Intake:
    """A small OTLP endpoint: keeps what it took, answers as it is told."""

    answer: Callable[[], tuple[int, dict[str, str]]] = lambda: (200, {})
    taken: list[tuple[str, bytes]] = field(default_factory=list)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    body: bytes = b""
    port: int = 0
    _server: ThreadingHTTPServer | None = None
    _thread: threading.Thread = field(default_factory=threading.Thread)
    _connections: list[socket.socket] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self) -> None:
        """Listen, on the port of before when there was one."""
        intake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 5

            def setup(self) -> None:
                super().setup()
                intake._connections.append(self.connection)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                intake.asked.append((self.path, dict(self.headers)))
                status, headers = intake.answer()
                if status == 200:
                    assert self.headers["Content-Encoding"] == "gzip"
                    intake.taken.append((self.path, gzip.decompress(body)))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(intake.body)))
                self.end_headers()
                self.wfile.write(intake.body)

            def log_message(self, *args) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            allow_reuse_address = True

            def handle_error(self, *args) -> None:
                pass

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None
            for connection in self._connections:  # kept-alive ones die with a real server too
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._connections.clear()

    def resources(self) -> list[dict[str, object]]:
        """Return the attributes of every ResourceMetrics taken."""
        return [
            {pair.key: _value(pair.value) for pair in one.resource.attributes}
            for path, body in list(self.taken)
            if path == "/v1/metrics"
            for one in ExportMetricsServiceRequest.FromString(body).resource_metrics
        ]

    def points(self, metric: str) -> list[tuple[dict[str, Any], dict[str, Any], float, float]]:
        """Return (resource, attributes, seconds, value) of every point of a metric, in order."""
        found = []
        for path, body in list(self.taken):
            if path != "/v1/metrics":
                continue
            for one in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                resource = {pair.key: _value(pair.value) for pair in one.resource.attributes}
                for scope in one.scope_metrics:
                    for each in scope.metrics:
                        if each.name != metric:
                            continue
                        data = each.sum if each.HasField("sum") else each.gauge
                        found += [
                            (
                                resource,
                                {pair.key: _value(pair.value) for pair in point.attributes},
                                point.time_unix_nano / 1e9,
                                point.as_double,
                            )
                            for point in data.data_points
                        ]
        return found

    def metrics(self) -> set[str]:
        return {
            each.name
            for path, body in list(self.taken)
            if path == "/v1/metrics"
            for one in ExportMetricsServiceRequest.FromString(body).resource_metrics
            for scope in one.scope_metrics
            for each in scope.metrics
        }

    def events(self, name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return (resource, attributes) of every event of a name, in order."""
        return [
            (
                {pair.key: _value(pair.value) for pair in one.resource.attributes},
                {pair.key: _value(pair.value) for pair in record.attributes},
            )
            for path, body in list(self.taken)
            if path == "/v1/logs"
            for one in ExportLogsServiceRequest.FromString(body).resource_logs
            for scope in one.scope_logs
            for record in scope.log_records
            if record.event_name == name
        ]


def _value(value) -> object:
    return getattr(value, value.WhichOneof("value"))


@pytest.fixture
def intake() -> Iterator[Intake]:
    one = Intake()
    one.open()
    yield one
    one.close()


@pytest.fixture
def run_agent(folder: Path) -> Iterator[Callable[..., service.NodeAgent]]:
    """Start agents inside this process, each in a thread; they end with the test."""
    running: list[tuple[service.NodeAgent, threading.Thread]] = []

    def start(**sections: dict[str, object]) -> service.NodeAgent:
        number = len(running)
        given: dict[str, dict[str, object]] = {
            "export": {"listen": "127.0.0.1:0"},
            "probe": {"socket": str(folder / f"{number}.sock")},
            "push": {"endpoint": "", "interval_seconds": 0.1},
            "spool": {"folder": str(folder / f"spool{number}")},
            "node": {"host": "node-1", "state": str(folder / f"state{number}")},
            "readers": {"period_seconds": 0.3},
            "kernel_log": {"path": str(folder / "no-kmsg")},  # this machine's own is no test's
            "logs": {"follow": False},  # nor are the processes of other tests
            "ras": {"ask": "off"},
            "inspector": {"follow": False},
            "flight_recorder": {"follow": False},
        }
        for section, keys in sections.items():
            given[section] = {**given.get(section, {}), **keys}
        agent = service.NodeAgent(AgentSettings.model_validate(given), environ={})
        thread = threading.Thread(target=agent.run)
        thread.start()
        running.append((agent, thread))
        return agent

    yield start
    for agent, thread in running:
        agent.stop()
        thread.join(60)
        assert not thread.is_alive()


_TRAINER = """
import os, signal, socket, sys, time
from rankscope.vocabulary import datagram
from rankscope.vocabulary.samples import Event, Sample, attributes

path, job, rank, attempt = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
line.connect(path)
number = 0

def say(*samples, events=(), pid=None):
    global number
    said = datagram.ProbeDatagram(job, attempt, rank, pid or os.getpid(), number, 0,
                             tuple(samples), tuple(events))
    line.send(datagram.encode(said))
    number += 1

def step(index, **more):
    at = time.time()
    mine = attributes({"rank": rank})
    say(Sample("training.step", index, at, mine), Sample("training.loss", 0.5, at, mine), **more)

def phase(name):
    say(events=[Event("training.phase", time.time(), {"rank": rank, "phase": name})])
"""


@pytest.fixture
def trainer() -> Iterator[Callable[..., Any]]:
    """Start a process that speaks to an agent: `step(index)`, `phase(name)` and `say(...)`."""
    started: list[Any] = []

    def start(
        path: str,
        body: str,
        *,
        job: str = "job-1",
        rank: int = 0,
        attempt: int = 0,
        launched: tuple[str, int] | None = None,
    ) -> Any:
        # `launched`: as which job and rank it was started, where that is not what it says.
        code = _TRAINER + textwrap.dedent(body)
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(path), job, str(rank), str(attempt)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONUNBUFFERED": "1",
                "RANKSCOPE_JOB_ID": job if launched is None else launched[0],
                "RANK": str(rank if launched is None else launched[1]),
            },
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
