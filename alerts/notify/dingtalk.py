"""The `dingtalk` format: a text message to a custom robot of DingTalk, its address signed.

Nobody is named in `at`, so that nobody is mentioned.
"""

import base64
import hashlib
import hmac
from urllib.parse import quote, urlsplit, urlunsplit

from ..ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from . import robots
from .traits import QUIET, FormatTraits

NAME = "dingtalk"
TRAITS = FormatTraits(
    delivery="digest",
    credential_help="write the robot's SEC... secret, or none where it asks for a keyword instead",
    per_minute=QUIET,
    most_per_minute=20,
)

MOST_BYTES = 14_000
"""Of text; the whole body may have about 20 KB."""
_BLOCKED_SECONDS = 600.0
"""How long a robot takes nothing once it got more than 20 messages in a minute."""
_TOO_FAST = (130101, 90030)
_MEANINGS = {
    310000: "refused by the robot's security settings: check secret, keyword and allowed addresses",
    130101: "more than 20 messages in a minute",
    90030: "more than 20 messages in a minute",
}


def request(endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:
    """Return the request of one attempt at `at`: the address holds its time in milliseconds."""
    url = endpoint.url
    if endpoint.secret:
        stamp = str(int(at * 1000))
        parts = urlsplit(url)
        more = f"timestamp={stamp}&sign={quote(sign(endpoint.secret, stamp), safe='')}"
        query = f"{parts.query}&{more}" if parts.query else more
        url = urlunsplit(parts._replace(query=query))
    content = {
        "msgtype": "text",
        "text": {"content": robots.chat(notice, MOST_BYTES)},
        "at": {"atMobiles": [], "atUserIds": [], "isAtAll": False},
    }
    return robots.request(url, content)


def sign(secret: str, stamp: str) -> str:
    """Return the signature in base64: the secret is the key, time and secret are the message."""
    signed = f"{stamp}\n{secret}".encode()
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def outcome(status: int, body: bytes) -> DeliveryOutcome:
    """Return how an attempt ended: errors come as a code within a 200."""
    return robots.outcome(
        status, body, meanings=_MEANINGS, busy=_TOO_FAST, busy_seconds=_BLOCKED_SECONDS
    )
