"""A small HTTP server that answers as the collector does: example documents, made-up series.

It serves the real console pages: what is tested is what is shipped.
"""

import copy
import json
import math
import queue
import random
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from rankscope.dashboards import console
from rankscope.vocabulary import times

ONSET = 1795183385.0
"""2026-11-20T14:03:05Z, the onset in fixtures/incident.json."""


def incident(**changes: Any) -> dict[str, Any]:
    """Return the example incident, with top-level changes."""
    text = Path(__file__).with_name("fixtures").joinpath("incident.json").read_text()
    return {**copy.deepcopy(json.loads(text)), **changes}


def series(metric: str, ranks: int, culprits: set[int]) -> dict[str, Any]:
    """Return two minutes of a per-step metric in which the culprits stand out after the onset."""
    noise = random.Random(metric)
    rows = []
    for rank in range(ranks):
        values: list[tuple[str, float]] = []
        at = ONSET - 60
        waited = 0.0
        while at < ONSET + 85:
            late = at >= ONSET and rank in culprits
            step = 0.6 if at >= ONSET else 0.21
            own = (0.57 if late else 0.18) + noise.gauss(0, 0.012)
            waited += step * (0.66 if late else 0.01)
            value = {
                "training.comm.duration": max(0.004, step - own),
                "training.step.duration": step + noise.gauss(0, 0.01),
                "process.cpu.wait": waited,
                "training.loss": math.nan if late else 2.4 + noise.gauss(0, 0.05),
            }.get(metric, own)
            values.append((times.rfc3339(at), value))
            at += step
        points = [
            [moment, "NaN" if math.isnan(value) else round(value, 5)] for moment, value in values
        ]
        rows.append({"rank": rank, "attributes": {}, "points": points})
        if metric == "training.grad_norm":  # what every rank sees after the reduction, and its own
            rows[-1]["attributes"] = {"scope": "global"}
            local = [
                [moment, round(value * (3 if rank in culprits else 1), 5)]
                for moment, value in values
            ]
            rows.append({"rank": rank, "attributes": {"scope": "local"}, "points": local})
    return {"metric": metric, "unit": "s", "series": rows}


class Collector:
    """The server. `incidents` and `answers` may be changed while it runs; `say()` sends news."""

    def __init__(self, incidents: list[dict[str, Any]], *, ranks: int = 4, token: str = "") -> None:
        self.incidents = incidents
        self.similar: list[dict[str, Any]] = []
        self.report: list[dict[str, Any]] = []
        self.offenders: list[dict[str, Any]] = []
        self.ranks = ranks
        self.culprits = {2, 3}
        self.token = token
        self.role = "admin"
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[str] = []
        self.done: list[tuple[str, Any]] = []
        self._listeners: list[queue.Queue[bytes]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def say(self, kind: str, document: Mapping[str, Any]) -> None:
        """Send one server-sent event to everybody who listens."""
        line = f"event: {kind}\ndata: {json.dumps(document)}\n\n".encode()
        for listener in self._listeners:
            listener.put(line)

    def close(self) -> None:
        """Stop answering."""
        for listener in self._listeners:
            listener.put(b"")
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path: str, query: Mapping[str, list[str]]) -> tuple[int, Any]:
        """Return status and document for a path below /api/v1."""
        if path in self.answers:
            return self.answers[path]
        match path.split("/"):
            case ["session"]:
                return 200, {"role": self.role, "name": "", "jobs": [], "token_required": True}
            case ["incidents"]:
                return 200, {"items": self._matching(query), "next_cursor": None}
            case ["incidents", name]:
                found = [one for one in self.incidents if one["id"] == unquote(name)]
                return (200, found[0]) if found else (404, {"title": "No such incident"})
            case ["incidents", _, "similar"]:
                return 200, {"items": self.similar, "next_cursor": None}
            case ["report"]:
                return 200, {"items": self.report, "next_cursor": None}
            case ["offenders"]:
                return 200, {"items": self.offenders, "next_cursor": None}
            case ["jobs"]:
                return 200, {"items": [self._job()], "next_cursor": None}
            case ["jobs", _]:
                return 200, self._job()
            case ["jobs", _, "ranks"]:
                return 200, {"items": [self._rank(rank) for rank in range(self.ranks)]}
            case ["jobs", _, "series"]:
                return 200, series(query["metric"][0], self.ranks, self.culprits)
        return 404, {"title": "Not found", "detail": path}

    def _matching(self, query: Mapping[str, list[str]]) -> list[dict[str, Any]]:
        wanted = {key: query[key][0] for key in ("status", "severity", "job") if key in query}
        return [
            one
            for one in self.incidents
            if all(one.get(key) == value for key, value in wanted.items())
        ]

    def _job(self) -> dict[str, Any]:
        return {
            "job": "llm-7b",
            "attempt": 0,
            "first_at": times.rfc3339(ONSET - 60),
            "last_at": times.rfc3339(ONSET + 85),
            "world_size": self.ranks,
            "hosts": ["gpu-11", "gpu-12"],
            "ranks": list(range(self.ranks)),
            "last_step": 428,
            "step_seconds": 0.61,
        }

    def _rank(self, rank: int) -> dict[str, Any]:
        return {
            "rank": rank,
            "local_rank": rank % 2,
            "host": f"gpu-{11 + rank // 2}",
            "pid": 4000 + rank,
            "hw_id": "",
            "last_step": 428 if rank else 420,
            "progress_age": 0.2 if rank else 5.1,
            "attempt": 0,
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                collector.asked.append(self.path)
                path = parts.path.removeprefix("/api/v1/")
                if path == parts.path:
                    self._page(parts.path)
                elif collector.token and self.headers["Authorization"] != collector.token:
                    self._json(401, {"title": "Unauthorized"})
                elif path == "events":
                    self._events()
                else:
                    self._json(*collector.answer(path, parse_qs(parts.query)))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.done.append((self.path, json.loads(body)))
                _, _, _, _, name, action = self.path.split("/")
                if collector.token and self.headers["Authorization"] != collector.token:
                    self._json(403, {"title": "Forbidden", "detail": "this needs the role admin"})
                    return
                status = {"ack": "acknowledged", "resolve": "resolved"}.get(action)
                for one in collector.incidents:
                    if one["id"] == name and status:
                        one["status"] = status
                self._json(200, {})

            def _page(self, path: str) -> None:
                found = console.page(path)
                if found is None:
                    self._json(404, {"title": "Not found"})
                    return
                body, kind = found
                self._send(200, kind, body, console.HEADERS)

            def _json(self, status: int, document: Any) -> None:
                self._send(status, "application/json", json.dumps(document).encode(), {})

            def _send(self, status: int, kind: str, body: bytes, more: Mapping[str, str]) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for name, value in more.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def _events(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                listener: queue.Queue[bytes] = queue.Queue()
                collector._listeners.append(listener)
                self.wfile.write(b": hello\n\n")
                while line := listener.get():
                    try:
                        self.wfile.write(line)
                        self.wfile.flush()
                    except OSError:
                        break

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                """Say nothing: pytest shows what failed."""

        return Handler
