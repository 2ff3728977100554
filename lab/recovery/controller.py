"""Takes signed webhooks about causes: the outermost part of a recovery controller."""

import http.server
import queue
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

from ...vocabulary import times

_MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class ReceivedCause:
    """A first cause that was sent, when its incident was detected and when it was received.

    Times in seconds since the epoch.
    """

    incident: str
    fault: str
    host: str | None
    confidence: str
    detected_at: float
    received_at: float


@dataclass(frozen=True, slots=True)
class CauseInbox:
    """Where a receiver listens, and the causes that have come."""

    url: str
    causes: "queue.Queue[ReceivedCause]"


@contextmanager
def receiving(secret: str) -> Generator[CauseInbox, None, None]:
    """Receive on a free port of the loopback what is signed with this secret."""
    causes: queue.Queue[ReceivedCause] = queue.Queue()
    seen: set[str] = set()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(min(int(self.headers["content-length"]), _MOST_BYTES))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                message: Any = Webhook(secret).verify(body.decode(), headers)
            except (WebhookVerificationError, ValueError):
                self._answer(401)
                return
            identity = headers["webhook-id"]
            self._answer(204)
            if identity not in seen and message["type"] == "incident.opened":
                causes.put(_cause(message["data"]))
            seen.add(identity)

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield CauseInbox(f"http://127.0.0.1:{server.server_port}/", causes)
        server.shutdown()
        thread.join()


def _cause(document: Any) -> ReceivedCause:
    first = document["root_cause"]["hypotheses"][0]
    return ReceivedCause(
        incident=document["id"],
        fault=first["fault"],
        host=first["entity"]["host"],
        confidence=first["confidence"],
        detected_at=times.parse(document["detected_at"]),
        received_at=time.time(),
    )
