"""An endpoint that is flaky: of first tries some are refused, and some taken without an answer."""

import json
import random
import threading
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

REFUSED, UNANSWERED = 0.2, 0.15
"""Shares of first tries."""


@dataclass(frozen=True, slots=True)
class TakenMessage:
    """What was taken: the message's id, what happened, to which incident of which job."""

    webhook_id: str
    type: str
    incident: str
    job: str
    at: str


class MessageReceiver:
    """Notes every message that it takes in a file, so that a soak that goes on has them all."""

    def __init__(self, path: Path, secret: str, *, seed: str = "") -> None:
        self._path = path
        self._verify = Webhook(secret).verify
        self._chance = random.Random(f"receiver {seed}")
        self._tried: set[str] = set()
        self._lock = threading.Lock()
        self.unsigned = 0
        self.messages = [
            TakenMessage(**json.loads(line))
            for line in (path.read_text(encoding="utf-8").splitlines() if path.exists() else ())
        ]
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/soak"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take nothing more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, body: bytes, headers: dict[str, str]) -> int | None:
        """Return what to answer; None: nothing at all, although the message was taken."""
        with self._lock:
            try:
                said: Any = self._verify(body, headers)
            except WebhookVerificationError:
                self.unsigned += 1
                return 400
            identity = headers["webhook-id"]
            drawn = 1.0 if identity in self._tried else self._chance.random()
            self._tried.add(identity)
            if drawn < REFUSED:
                return 503
            data = said["data"]
            taken = TakenMessage(identity, said["type"], data["id"], data["job"], said["timestamp"])
            self.messages.append(taken)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(taken)) + "\n")
            return None if drawn < REFUSED + UNANSWERED else 204


def _handler(receiver: MessageReceiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            body = self.rfile.read(length)
            if len(body) < length:
                return  # the sender was killed in the midst of it
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = receiver.take(body, headers)
            if status is None:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as it is called
            """Say nothing."""
            del format, args

    return Handler
