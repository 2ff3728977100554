"""The HTTP server of the page: small, bounded, and never in the way of the agent's own work."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from socketserver import StreamRequestHandler, TCPServer, ThreadingMixIn

from . import exposition, listening

_FRESH_SECONDS = 0.25
"""Scrapes closer together than this share one rendering."""
_AT_ONCE = 32
_TIMEOUT_SECONDS = 5.0
_LONGEST_LINE = 65_536
_MOST_HEADERS = 100
_TEXT = "text/plain; charset=utf-8"
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    431: "Request Header Fields Too Large",
    501: "Not Implemented",
}


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
            target=self._server.serve_forever, args=(0.5,), name="scraping", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
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


class _ScrapeHandler(StreamRequestHandler):
    """Answers GET and HEAD in HTTP/1.1, on a connection that is kept as long as the client wants.

    The standard library's handler would bring parsers of mail and TLS along, 4 MB.
    """

    timeout = _TIMEOUT_SECONDS
    # A small answer on a connection that is kept, as Prometheus keeps it, would wait for the
    # client's acknowledgement of the one before: 40 ms.
    disable_nagle_algorithm = True
    render: Callable[[], bytes]
    faults: Callable[[], bytes] | None = None

    def handle(self) -> None:
        """Answer one request after the other."""
        with suppress(OSError):  # of a client that went away, or says nothing
            while self._request():
                pass

    def _request(self) -> bool:
        """Answer a request; return whether the client may send another."""
        line = self.rfile.readline(_LONGEST_LINE + 1).decode("latin-1").strip()
        if not line:
            return False
        words = line.split()
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            self._answer(400, _TEXT, b"this is HTTP/1.1\n", keep=False, head=False)
            return False
        method, path, version = words
        asked = self._connection_header()
        if asked is None:
            self._answer(431, _TEXT, b"too many headers\n", keep=False, head=False)
            return False
        keep = "close" not in asked and (version != "HTTP/1.0" or "keep-alive" in asked)
        if method not in ("GET", "HEAD"):
            self._answer(501, _TEXT, b"GET and HEAD are understood\n", keep=False, head=False)
            return False
        code, kind, body = self._page(path.partition("?")[0])
        self._answer(code, kind, body, keep=keep, head=method == "HEAD")
        return keep

    def _connection_header(self) -> str | None:
        """Read the headers; return what `Connection` says, None where there are too many."""
        found = ""
        for _ in range(_MOST_HEADERS):
            line = self.rfile.readline(_LONGEST_LINE + 1).decode("latin-1")
            if len(line) > _LONGEST_LINE:
                return None
            name, _, value = line.partition(":")
            if not line.strip():
                return found
            if name.strip().lower() == "connection":
                found = value.strip().lower()
        return None

    def _page(self, path: str) -> tuple[int, str, bytes]:
        if path == "/metrics":
            return 200, exposition.CONTENT_TYPE, self.render()
        if path == "/faults" and self.faults is not None:
            return 200, "application/json", self.faults()
        if path in ("/healthz", "/health"):  # the second is dcgm-exporter's
            return 200, _TEXT, b"ok\n"
        return 404, _TEXT, b"/metrics is here\n"

    def _answer(self, code: int, kind: str, body: bytes, *, keep: bool, head: bool) -> None:
        lines = (
            f"HTTP/1.1 {code} {_REASONS[code]}",
            "Server: rankscope-agent",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            *(() if keep else ("Connection: close",)),
        )
        start = "\r\n".join((*lines, "", "")).encode()
        self.request.sendall(start if head else start + body)


class _ThreadingServer(ThreadingMixIn, TCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, opened: socket.socket, handler: type[_ScrapeHandler]) -> None:
        super().__init__(("", 0), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = opened
        self.server_address = opened.getsockname()
        self._slots = threading.Semaphore(_AT_ONCE)
        self.server_activate()

    def process_request(self, request: object, client_address: object) -> None:
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)  # type: ignore[arg-type]
            return
        super().process_request(request, client_address)  # type: ignore[arg-type]

    def process_request_thread(self, request: object, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._slots.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""
