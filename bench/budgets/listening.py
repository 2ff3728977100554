"""An OTLP endpoint that notes when what arrived: a double of the collector's front door."""

import gzip
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


class EventEndpoint:
    """Takes everything; keeps events with the time they came."""

    def __init__(self) -> None:
        self.events: list[tuple[float, str, dict[str, str]]] = []
        """Time of arrival, name, attributes as text."""
        self.samples = 0
        """Requests with metrics."""
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.take(self.path, gzip.decompress(body), time.time())
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, path: str, body: bytes, at: float) -> None:
        """Note one request."""
        if path != "/v1/logs":
            self.samples += 1
            return
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
            for scope in resource.scope_logs:
                for record in scope.log_records:
                    pairs = {pair.key: _text(pair.value) for pair in record.attributes}
                    self.events.append((at, record.event_name, pairs))

    def first(self, name: str, pairs: Mapping[str, str], *, since: float) -> float | None:
        """Return when the first event of a name with these attributes came after a time."""
        for at, event, valid in list(self.events):
            if at >= since and event == name and pairs.items() <= valid.items():
                return at
        return None

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


def _text(value: AnyValue) -> str:
    return str(getattr(value, value.WhichOneof("value") or "string_value"))
