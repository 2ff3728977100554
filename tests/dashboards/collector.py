"""A small HTTP server that answers as the collector does: example documents, made-up series.

It serves the real console pages: what is tested is what is shipped.
"""

import base64
import gzip
import json
import queue
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from rankscope.alerts.causes import runbook_pages
from rankscope.dashboards import console
from rankscope.vocabulary import times

from .documents import (
    DEAD,
    HOSTS,
    NODE,
    NODE_SERIES,
    ONSET,
    OPENAPI,
    RECORD,
    STATS,
    STEPS,
    fixture,
    slowest,
)
from .made_series import distribution


class Collector:
    """The server. `incidents` and `answers` may be changed while it runs; `say()` sends news."""

    def __init__(self, incidents: list[dict[str, Any]], *, ranks: int = 4, token: str = "") -> None:
        self.incidents = incidents
        self.similar: list[dict[str, Any]] = []
        self.report: list[dict[str, Any]] = []
        self.offenders: list[dict[str, Any]] = []
        self.gains: list[dict[str, Any]] = []
        self.observations: list[dict[str, Any]] = []
        self.actions: list[dict[str, Any]] = []
        self.webhooks: list[dict[str, Any]] = []
        self.jobs: list[dict[str, Any]] = []
        self.only_in_journal = False
        self.ranks = ranks
        self.culprits = {2, 3}
        self.token = token
        self.role = "admin"
        self.until = ""
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
            case ["incidents", _, "checks"]:
                return 200, {"next": None, "why": "", "requests": [], "results": []}
            case ["report"]:
                return 200, {"items": self.report, "next_cursor": None}
            case ["offenders"]:
                return 200, {"items": self.offenders, "next_cursor": None}
            case ["gains"]:
                wanted = query.get("host", [""])[0]
                rows = [row for row in self.gains if wanted in ("", row["host"])]
                return 200, {"items": rows, "next_cursor": None}
            case ["observations"]:
                return 200, {"items": self.observations, "next_cursor": None}
            case ["actions"]:
                return 200, {"items": self.actions, "record": [RECORD], "next_cursor": None}
            case ["jobs"]:
                return 200, {"items": [self._job(), *self.jobs], "next_cursor": None}
            case ["jobs", _]:
                return 200, self._job()
            case ["jobs", _, "ranks"]:
                wanted = query.get("host", [""])[0]
                rows = [self._rank(rank) for rank in range(self.ranks)]
                return 200, {"items": [row for row in rows if wanted in ("", row["host"])]}
            case ["jobs", _, what]:
                return self._figure(what, query)
            case ["topology"]:
                return 200, self._topology()
            case ["hosts"]:
                return 200, {"items": [self._host(host) for host in HOSTS], "next_cursor": None}
            case ["hosts", host]:
                return 200, {**self._host(host), **NODE}
            case ["hosts", _, "series"]:
                return 200, NODE_SERIES
            case ["stats"]:
                return 200, STATS
            case ["webhooks"]:
                return 200, {"items": self.webhooks}
            case ["webhooks", _, "deliveries"]:
                return 200, {"items": [DEAD], "next_cursor": None}
        return 404, {"title": "Not found", "detail": path}

    def _figure(self, what: str, query: Mapping[str, list[str]]) -> tuple[int, Any]:
        match what:
            case "collectives" | "operations":
                return 200, fixture(what)
            case "distribution":
                source = query.get("source", ["windows"])[0]
                found = distribution(query, self.ranks, self.culprits, source=source)
                if self.only_in_journal and source == "windows":
                    found.update(variants=[], held_from=None)
                return 200, found
            case "heatmap":
                cells = bytes(
                    200 if rank in self.culprits and step >= STEPS // 2 else 20
                    for rank in range(self.ranks)
                    for step in range(STEPS)
                )
                return 200, {
                    "metric": query["metric"][0], "unit": "s", "rows": self.ranks,
                    "columns": STEPS, "ranks": list(range(self.ranks)),
                    "steps": list(range(STEPS)), "ranks_a_row": 1, "steps_a_column": 1,
                    "first_at": times.rfc3339(ONSET - 60), "last_at": times.rfc3339(ONSET + 85),
                    "low": 0.1, "high": 0.8, "cells": base64.b64encode(cells).decode(),
                }  # fmt: skip
            case "phases":
                at = [times.rfc3339(ONSET + 10 * index) for index in range(5)]
                return 200, {"at": at, "steps": [10, 20, 30, 40, 50],
                             "seconds": {"compute": [0.4] * 5, "comm": [0.15] * 5,
                                         "other": [0.05] * 5}}  # fmt: skip
            case "waits":
                rows = [[0.0, 0.0, 30.0, 30.0] for _ in range(4)]
                awaited = [{"rank": 2, "host": "gpu-12", "seconds": 120.0, "steps": 100}]
                return 200, {"by": "rank", "names": list("0123"), "seconds": rows, "steps": 400,
                             "awaited": awaited}  # fmt: skip
            case "slowest":
                return 200, slowest(query["by"][0])
        return 404, {"title": "Not found", "detail": what}

    def _topology(self) -> dict[str, Any]:
        hosts: list[dict[str, Any]] = [
            {"type": "host", "id": host, "host": host, "ranks": [2 * index, 2 * index + 1]}
            for index, host in enumerate(HOSTS)
        ]
        switch: dict[str, Any] = {"type": "switch", "id": "leaf-1", "host": None, "ranks": []}
        edges = [{"from": host, "to": switch, "relation": "uplink"} for host in hosts]
        return {"nodes": [*hosts, switch], "edges": edges}

    def _host(self, host: str) -> dict[str, Any]:
        return {"host": host, "last_received": times.rfc3339(ONSET + 85), "switch": "leaf-1",
                "ranks": {"llm-7b": 2}}  # fmt: skip

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
            "status": "running",
            "goodput": 0.93,
            "incidents": 1,
            "attempt": 0,
            "first_at": times.rfc3339(ONSET - 60),
            "last_at": times.rfc3339(ONSET + 85),
            "world_size": self.ranks,
            "hosts": ["gpu-11", "gpu-12"],
            "ranks": self.ranks,
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
                if parts.path == "/openapi.json":
                    self._json(200, OPENAPI)
                elif path == parts.path:
                    self._page(parts.path)
                elif collector.token and self.headers["Authorization"] != collector.token:
                    self._json(401, {"title": "Unauthorized"})
                elif path == "events":
                    self._events()
                elif path.startswith("runbooks/"):
                    page = runbook_pages.page(path.removeprefix("runbooks/"))
                    self._send(200, "text/markdown", page.encode(), {})
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
                self._json(200, {"replayed": 1} if action == "replay" else {})

            def _page(self, path: str) -> None:
                found = console.packed(path, collector.until)
                if found is None:
                    self._json(404, {"title": "Not found"})
                    return
                body = gzip.decompress(found.body)
                self._send(200, found.media_type, body, console.HEADERS)

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
