"""The `standard` format: Standard Webhooks: a signed JSON message.

The same notice gives the same bytes, so every attempt carries the same body; headers carry the time
of the attempt and are signed anew.
"""

import json
from datetime import UTC, datetime

from standardwebhooks import Webhook

from ...vocabulary.answers.notifications import MessageDocument
from ...vocabulary.times import parse
from ..ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from . import answers, bodies
from .traits import FormatTraits

NAME = "standard"
TRAITS = FormatTraits(
    credential="signing",
    credential_help="write whsec_ followed by the base64 of 24 to 64 random bytes",
)


def request(endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:
    """Return the request of one attempt at `at` (seconds since the epoch).

    Raises ValueError when the secret is not base64 after its `whsec_`.
    """
    body = message(notice)
    headers = {"content-type": "application/json", **signed(endpoint.secret, notice.id, body, at)}
    return HttpPost(endpoint.url, headers, body)


def outcome(status: int, body: bytes) -> DeliveryOutcome:  # noqa: ARG001
    """Return how an attempt ended: any 2xx is success."""
    return answers.by_status(status)


def message(notice: OutboxNotice) -> bytes:
    """Return the message: UTF-8 JSON with `type`, `timestamp` and `data`."""
    content = MessageDocument(type=notice.type, timestamp=notice.at, data=notice.data)
    return bodies.encoded(content.document())


def notice(body: bytes, *, identity: str = "", console: str = "") -> OutboxNotice:
    content = json.loads(body)
    at = parse(content["timestamp"])
    return OutboxNotice(content["type"], at, content["data"], id=identity, console=console)


def signed(secret: str, identity: str, body: bytes, at: float) -> dict[str, str]:
    """Return the three headers of Standard Webhooks. Raises ValueError as `request` does."""
    moment = datetime.fromtimestamp(int(at), UTC)
    return {
        "webhook-id": identity,
        "webhook-timestamp": str(int(at)),
        "webhook-signature": Webhook(secret).sign(identity, moment, body.decode()),
    }
