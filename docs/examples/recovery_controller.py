"""A recovery controller that only prints: what a real one would do with each cause it is sent.

It needs nothing but Python. Give it the secret of a webhook that subscribes to causes, and point
that webhook at it (docs/recovery.md):

    RANKSCOPE_WEBHOOK_SECRET=whsec_... python recovery_controller.py 9000

Messages come at least once and may come again: `webhook-id` tells which were seen. Whoever answers
anything but 2xx gets the message again, so answer first what cannot fail, and act afterwards.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

TOLERANCE_SECONDS = 300
MOST_BYTES = 4 << 20


def verified(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    """Return whether a message is signed with the secret (Standard Webhooks) and not old."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        identity, at = headers["webhook-id"], headers["webhook-timestamp"]
        given = headers["webhook-signature"]
        fresh = abs(now - int(at)) <= TOLERANCE_SECONDS
    except (KeyError, ValueError):
        return False
    signed = b".".join((identity.encode(), at.encode(), body))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    # Several signatures may stand there, while a secret is being changed.
    return fresh and any(
        hmac.compare_digest(f"v1,{expected}".encode(), one.encode()) for one in given.split()
    )


def plan(message: Mapping[str, Any]) -> list[str]:
    """Return what a controller would do about a message, step by step."""
    incident = message["data"]
    if message["type"] == "webhook.test":
        return ["a test message: nothing to do"]
    first = incident["root_cause"]["hypotheses"][0]
    host, fault = first["entity"]["host"], first["fault"]
    jobs = ", ".join(incident["jobs"])
    if message["type"] == "incident.resolved":
        return [f"let {host} back once its check passes"] if host else []
    if message["type"] != "incident.opened":
        return [f"note: the first cause is {fault} at {first['entity']['id']}"]
    if host is None:
        return [f"trigger a checkpoint of {jobs}: {fault} is no single host's"]
    return [
        f"cordon {host}: {fault}, {first['confidence']} confidence",
        f"stop {jobs}",
        f"restart {jobs} from its last checkpoint without {host}",
    ]


class Handler(http.server.BaseHTTPRequestHandler):
    """Takes one message a request."""

    secret = ""
    seen: set[str] = set()  # noqa: RUF012  a real controller keeps them on disk

    def do_POST(self) -> None:
        """Verify, answer, print."""
        size = int(self.headers.get("content-length", "0"))
        if size > MOST_BYTES:
            self._answer(413)
            return
        body = self.rfile.read(size)
        headers = {name.lower(): value for name, value in self.headers.items()}
        if not verified(headers, body, self.secret, time.time()):
            self._answer(401)
            return
        self._answer(204)
        if headers["webhook-id"] in self.seen:
            return
        self.seen.add(headers["webhook-id"])
        message = json.loads(body)
        print(f"{message['type']} {message['data'].get('id', '')}")
        for step in plan(message):
            print(f"  {step}", flush=True)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing but plans."""


if __name__ == "__main__":
    Handler.secret = os.environ["RANKSCOPE_WEBHOOK_SECRET"]
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
