"""The `feishu` format: an interactive card to a custom bot of Feishu or Lark, signed if it asks.

All text is in `plain_text` elements, where mentions (`<at id=all>`) and markup have no meaning.
"""

import base64
import hashlib
import hmac
from typing import Any

from ..ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from . import answers, bodies, plain, wording
from .traits import QUIET, FormatTraits

NAME = "feishu"
TRAITS = FormatTraits(
    delivery="digest",
    credential_help="write the signing secret of the bot, or none where it asks for no signature",
    per_minute=QUIET,
    most_per_minute=100,
    address_is_secret=True,
)

MOST_BYTES = 14_000
"""Of the card's text; the whole body may have about 20 KB, and JSON takes its share."""
_COLORS = {"critical": "red", "warning": "orange", "info": "blue", "resolved": "green"}
_TOO_FAST = (11232,)
_MEANINGS = {
    9499: "the bot cannot read the message",
    19021: "the signature or its time is wrong: check the secret and the clock of this machine",
    19022: "this machine's address is not on the bot's list of allowed addresses",
    19024: "the bot asks for a keyword: give it one of the message's words, such as Rankscope",
    11232: "too many messages",
}


def request(endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:
    """Return the request of one attempt at `at`: the signature holds its time in seconds."""
    content: dict[str, Any] = {"msg_type": "interactive", "card": _card(notice)}
    if endpoint.secret:
        stamp = str(int(at))
        content = {"timestamp": stamp, "sign": sign(endpoint.secret, stamp), **content}
    headers = {"content-type": "application/json; charset=utf-8"}
    return HttpPost(endpoint.url, headers, bodies.encoded(content))


def sign(secret: str, stamp: str) -> str:
    """Return the signature: time and secret are the key, and the message is empty."""
    key = f"{stamp}\n{secret}".encode()
    return base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()


def outcome(status: int, body: bytes) -> DeliveryOutcome:
    """Return how an attempt ended: errors come as a code within a 200."""
    return answers.by_code(
        status,
        body,
        keys=("code", "StatusCode"),
        texts=("msg", "StatusMessage"),
        meanings=_MEANINGS,
        busy=_TOO_FAST,
        busy_seconds=60.0,
    )


def _card(notice: OutboxNotice) -> dict[str, Any]:
    text = wording.text(notice)
    lines = plain.fitting([f"{label}: {row}" for label, row in text.rows], MOST_BYTES).split("\n")
    elements: list[dict[str, Any]] = [{"tag": "div", "text": _plain(row)} for row in lines if row]
    if text.link:
        button = {"tag": "button", "text": _plain("Open in the console"), "url": text.link}
        elements.append({"tag": "action", "actions": [{**button, "type": "primary"}]})
    return {
        "config": {"wide_screen_mode": True},
        "header": {"template": _COLORS[text.level], "title": _plain(text.title)},
        "elements": elements,
    }


def _plain(text: str) -> dict[str, str]:
    return {"tag": "plain_text", "content": text}
