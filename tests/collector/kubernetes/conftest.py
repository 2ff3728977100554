"""An API server's double that checks what a real one would, and a store with incidents."""

import dataclasses
import http.server
import json
import re
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from rankscope.alerts.lifecycle import IncidentChange
from rankscope.collector.kubernetes.server import KubernetesApi
from rankscope.collector.kubernetes.writer import ConditionWriter
from rankscope.collector.settings.kubernetes import KubernetesSettings

NODE = re.compile(r"/api/v1/nodes/([a-z0-9.-]+)/status$")
EVENTS = "/api/v1/namespaces/default/events"


@dataclass
class ApiServer:
    """Nodes with their conditions by type, and events by name. `refuses`: the next answers."""

    token: str = "token-1"
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    refuses: list[int] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    port: int = 0
    server: Any = None

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, str]:
        self.requests.append(f"{method} {path}")
        if headers["authorization"] != f"Bearer {self.token}":
            return 401, "Unauthorized"
        if self.refuses:
            status = self.refuses.pop(0)
            return status, {
                403: 'nodes "gpu-1" is forbidden: User "system:serviceaccount:x" cannot patch',
                409: "the object has been modified; apply your changes to the latest version",
                429: "too many requests",
            }.get(status, "the server is currently unable to handle the request")
        given = json.loads(body)
        if method == "PATCH" and (found := NODE.match(path)):
            if headers["content-type"] != "application/strategic-merge-patch+json":
                return 415, "the body of the request was in an unknown format"
            if found[1] not in self.nodes:
                return 404, f'nodes "{found[1]}" not found'
            assert {"status"} == set(given)
            for row in given["status"]["conditions"]:
                assert row["status"] in ("True", "False", "Unknown")
                assert re.fullmatch(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", row["reason"])
                for name in ("lastHeartbeatTime", "lastTransitionTime"):
                    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row[name])
                self.nodes[found[1]][row["type"]] = row
            return 200, ""
        if method == "POST" and path == EVENTS:
            if headers["content-type"] != "application/json":
                return 415, "the body of the request was in an unknown format"
            name = given["metadata"]["name"]
            assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name)
            assert given["metadata"]["namespace"] == "default"
            assert given["involvedObject"]["kind"] == "Node"
            assert len(given["message"]) <= 1024
            if name in self.events:
                return 409, f'events "{name}" already exists'
            self.events[name] = given
            return 201, ""
        return 405, "method not allowed"

    def status(self, node: str) -> tuple[str, str]:
        """Return status and reason of our condition on a node."""
        row = self.nodes[node]["RankscopeDegraded"]
        return row["status"], row["reason"]


class _Handler(http.server.BaseHTTPRequestHandler):
    def _do(self) -> None:
        api: ApiServer = self.server.api  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["content-length"]))
        status, message = api.answer(self.command, self.path, self.headers, body)
        text = json.dumps({"kind": "Status", "code": status, "message": message}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_PATCH = do_POST = do_GET = do_DELETE = do_PUT = _do  # noqa: N815

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def api():
    """Run an API server's double with two nodes that have a condition of their own."""
    ready = {"Ready": {"type": "Ready", "status": "True"}}
    double = ApiServer(nodes={"gpu-1": dict(ready), "gpu-2": dict(ready)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.api = double  # type: ignore[attr-defined]
    double.port, double.server = server.server_port, server
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield double
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def settings(api, tmp_path):
    (tmp_path / "token").write_text("token-1\n")
    return KubernetesSettings(
        write_back=True, api_server=f"http://127.0.0.1:{api.port}", credentials=tmp_path
    )


@pytest.fixture
def new_writer(settings, store, clock):
    """Return a function that makes a writer that has taken what the store has."""
    made = []

    def make():
        writer = ConditionWriter(
            settings=settings, api=KubernetesApi(settings), store=store, clock=clock
        )
        writer.restore()
        made.append(writer)
        return writer

    yield make
    for writer in made:
        writer.stop()


@pytest.fixture
def happens(store, new_incident):
    """Return a function that commits a change of an incident with a stable cause."""

    def commit(kind="opened", *, cause="stable", **more):
        if kind == "resolved":
            more["status"] = "resolved"
        made = new_incident(**more)
        made = dataclasses.replace(
            made, root_cause=dataclasses.replace(made.root_cause, status=cause)
        )
        change = IncidentChange(f"incident.{kind}", made, notify=True)  # type: ignore[arg-type]
        store.commit([change], made.updated_at)
        return made

    return commit
