"""The `dingtalk` format: a text message to a custom robot of DingTalk, its address signed.

Plain text, not markdown: what tenants write cannot become markup there. `@` is written wide, and
nobody is named in `at`, so that nobody is mentioned.
"""

import base64
import hashlib
import hmac
import json
from urllib.parse import quote, urlsplit, urlunsplit

from ..ports import Endpoint, Notice, Outcome, Request
from . import answers, plain, wording
from .traits import QUIET, Traits

NAME = "dingtalk"
TRAITS = Traits(
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


def request(endpoint: Endpoint, notice: Notice, at: float) -> Request:
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
        "text": {"content": chat(notice, MOST_BYTES)},
        "at": {"atMobiles": [], "atUserIds": [], "isAtAll": False},
    }
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return Request(url, {"content-type": "application/json; charset=utf-8"}, body)


def sign(secret: str, stamp: str) -> str:
    """Return the signature in base64: the secret is the key, time and secret are the message."""
    signed = f"{stamp}\n{secret}".encode()
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def outcome(status: int, body: bytes) -> Outcome:
    """Return how an attempt ended: errors come as a code within a 200."""
    return answers.by_code(
        status,
        body,
        keys=("errcode",),
        texts=("errmsg",),
        meanings=_MEANINGS,
        busy=_TOO_FAST,
        busy_seconds=_BLOCKED_SECONDS,
    )


def chat(notice: Notice, most: int) -> str:
    """Return the text for a chat without markup, in at most so many bytes of UTF-8."""
    text = wording.text(notice)
    lines = [line.replace("@", "\uff20") for line in text.lines]
    return plain.fitting(lines, most, last=f"Console: {text.link}" if text.link else "")
