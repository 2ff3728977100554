"""A real HTTP server whose answers tests choose, byte by byte where that matters."""

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class Exporter:
    """Serves one answer on every path; counts requests and connections."""

    def __init__(self) -> None:
        self.requests: list[dict[str, str]] = []
        self.connections = 0
        self.ended = threading.Event()
        self._answer: Answer = lambda handler: None
        exporter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                exporter.connections += 1
                super().setup()

            def do_GET(self) -> None:
                exporter.requests.append(dict(self.headers.items()))
                try:
                    exporter._answer(self)
                except OSError:
                    self.close_connection = True  # the reader has had enough

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/metrics"

    def does(self, answer: Answer) -> None:
        """Answer from now on by a function of the handler."""
        self._answer = answer

    def says(
        self, text: str | bytes, *, status: int = 200, kind: str = "text/plain", **headers: str
    ) -> None:
        """Answer from now on with a whole body."""
        body = text.encode() if isinstance(text, str) else text

        def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(body)

        self._answer = answer

    def drips(self, head: bytes, drop: bytes, *, every: float = 0.02) -> None:
        """Answer with a byte now and then, for as long as the reader lets us."""

        def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
            handler.wfile.write(head)
            while not self.ended.wait(every):
                handler.wfile.write(drop)
                handler.wfile.flush()

        self._answer = answer

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serving() -> Iterator[Exporter]:
    """Serve for as long as a test takes."""
    one = Exporter()
    try:
        yield one
    finally:
        one.close()
