"""An HTTP server on the loopback that answers as a test has it."""

import http.server
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Request:
    """What a client sent. Names of headers are in small letters."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "GET"


@dataclass(frozen=True)
class Answer:
    """What it gets."""

    body: bytes = b""
    kind: str = "text/plain"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def served(answer: Callable[[Request], Answer]) -> Iterator[str]:
    """Serve for as long as the context lasts; yield the address. Requests are answered at once."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): text for name, text in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            found = answer(Request(self.path, headers, body, self.command))
            self.send_response(found.status)
            given = {"Content-Type": found.kind, "Content-Length": str(len(found.body))}
            for name, text in {**given, **found.headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(found.body)

        do_POST = do_PATCH = do_GET  # noqa: N815  the names that the library calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = (
        128  # with the five of the library, scrapes at once would wait for a second
    )

    def handle_error(self, request: object, client_address: object) -> None:
        """Print what went wrong, unless the client has gone: a slow answer is given up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]
