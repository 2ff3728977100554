"""The HTTP server of the page: small, bounded, and never in the way of the agent's own work."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import cast

from . import exposition, listening

_FRESH_SECONDS = 0.25
"""Scrapes closer together than this share one rendering."""
_AT_ONCE = 32
"""Connections; for another one that waits for its client is closed, so that a probe of liveness is
answered whoever keeps his open."""
_ROOM_SECONDS = 1.0
_TIMEOUT_SECONDS = 5.0
_POLL_SECONDS = 3600.0
"""The server wakes for scrapes and its end alone; how often it looks around besides."""


class ScrapeServer:
    """Serves `/metrics`, `/healthz` and `/faults` from a thread of its own until closed.

    `faults` returns the JSON of open and lately cleared faults; without it there is no such page.
    Raises OSError when the address cannot be had.
    """

    def __init__(
        self,
        listen: str,
        *,
        page: exposition.ExpositionPage,
        now: Callable[[], float],
        faults: Callable[[], bytes] | None = None,
    ) -> None:
        self._rendering = _RenderedPage(page, now)
        rendering = self._rendering
        serve_faults = staticmethod(faults) if faults else None

        class Handler(_ScrapeHandler):
            render = staticmethod(rendering.render)
            faults = serve_faults

        self._server = _ThreadingServer(listening.bound(listen, socket.SOCK_STREAM), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="scraping", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(2.0)


class _RenderedPage:
    def __init__(self, page: exposition.ExpositionPage, now: Callable[[], float]) -> None:
        self._page = page
        self._now = now
        self._lock = threading.Lock()
        self._body = b""
        self._until = 0.0

    def render(self) -> bytes:
        with self._lock:
            if time.monotonic() >= self._until:
                self._body = self._page.render(self._now())
                self._until = time.monotonic() + _FRESH_SECONDS
            return self._body


class _ScrapeHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "rankscope-agent"
    sys_version = ""
    timeout = _TIMEOUT_SECONDS
    # Head and body go in two writes. On a connection that is kept, as Prometheus keeps it, the
    # second would wait for the client's acknowledgement of the first: 40 ms.
    disable_nagle_algorithm = True
    render: Callable[[], bytes]
    faults: Callable[[], bytes] | None = None

    @property
    def _ours(self) -> "_ThreadingServer":
        """Return the server, which lets go of who waits for long."""
        return cast("_ThreadingServer", self.server)

    def handle_one_request(self) -> None:
        """Wait for a request and answer it."""
        self._ours.waits(self.connection)
        super().handle_one_request()

    def do_GET(self) -> None:
        self._ours.works(self.connection)
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(200, exposition.CONTENT_TYPE, self.render())
        elif path == "/faults" and self.faults is not None:
            self._answer(200, "application/json", self.faults())
        elif path in ("/healthz", "/health"):  # the second is dcgm-exporter's
            self._answer(200, "text/plain; charset=utf-8", b"ok\n")
        else:
            self._answer(404, "text/plain; charset=utf-8", b"/metrics is here\n")

    do_HEAD = do_GET  # noqa: N815

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: a scrape is no news."""


class _ThreadingServer(ThreadingMixIn, HTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, opened: socket.socket, handler: type[_ScrapeHandler]) -> None:
        super().__init__(("", 0), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = opened
        self.server_address = opened.getsockname()
        self._slots = threading.Semaphore(_AT_ONCE)
        self._lock = threading.Lock()
        self._waiting: dict[socket.socket, None] = {}
        """Connections whose client is to send something, the longest quiet first."""
        self._working: dict[socket.socket, None] = {}
        self.server_activate()

    def waits(self, connection: socket.socket) -> None:
        """Note that the client of a connection is to send something."""
        with self._lock:
            self._working.pop(connection, None)
            self._waiting[connection] = None

    def works(self, connection: socket.socket) -> None:
        """Note that a request is being answered."""
        with self._lock:
            self._waiting.pop(connection, None)
            self._working[connection] = None

    def shutdown_request(self, request: object) -> None:
        with self._lock:
            self._waiting.pop(request, None)  # type: ignore[call-overload]
            self._working.pop(request, None)  # type: ignore[call-overload]
        super().shutdown_request(request)  # type: ignore[arg-type]

    def process_request(self, request: object, client_address: object) -> None:
        if not self._slots.acquire(blocking=False):
            self._make_room()
            if not self._slots.acquire(timeout=_ROOM_SECONDS):
                self.shutdown_request(request)
                return
        super().process_request(request, client_address)  # type: ignore[arg-type]

    def _make_room(self) -> None:
        """End the connection that has waited longest for its client, else the oldest of all."""
        with self._lock:
            oldest = next(iter(self._waiting or self._working), None)
            if oldest is not None:
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)

    def process_request_thread(self, request: object, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._slots.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""
