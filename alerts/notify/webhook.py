"""The `standard` format: Standard Webhooks, the signed JSON message of section 7 of the contract.

The body is written once and kept, so that every attempt carries the same bytes; headers carry the
time of the attempt and are signed anew.
"""

import json
from datetime import UTC, datetime

from standardwebhooks import Webhook

from ...vocabulary.times import rfc3339
from ..ports import Notice

NAME = "standard"


def body(notice: Notice) -> bytes:
    """Return the message: UTF-8 JSON with `type`, `timestamp` and `data`."""
    message = {"type": notice.type, "timestamp": rfc3339(notice.at), "data": notice.data}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def headers(*, webhook_id: str, body: bytes, secret: str, at: float) -> dict[str, str]:
    """Return the headers of one attempt at `at` (seconds since the epoch).

    Raises ValueError when the secret is not base64 after its `whsec_`.
    """
    moment = datetime.fromtimestamp(int(at), UTC)
    return {
        "content-type": "application/json",
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(at)),
        "webhook-signature": Webhook(secret).sign(webhook_id, moment, body.decode()),
    }
