"""The `slack` format: an incoming webhook of Slack.

Text of tenants goes into `plain_text` objects, where Slack reads neither markup nor mentions; the
fallback for notifications is escaped as Slack asks (`&`, `<`, `>`).
"""

from typing import Any

from ..ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from . import answers, bodies, wording
from .traits import QUIET, FormatTraits

NAME = "slack"
TRAITS = FormatTraits(
    delivery="digest",
    credential="none",
    credential_help="slack takes none: its address is the secret",
    per_minute=QUIET,
    most_per_minute=60,
    address_is_secret=True,
)

MOST_BLOCKS = 50
LONGEST_HEADER = 150
_MARKS = {
    "critical": ":red_circle:",
    "warning": ":large_orange_circle:",
    "info": ":large_blue_circle:",
    "resolved": ":large_green_circle:",
}
_GONE = (b"no_service", b"channel_is_archived", b"no_team")
"""What Slack answers for a webhook that was removed."""


def request(endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:  # noqa: ARG001
    body = bodies.encoded(_payload(notice))
    return HttpPost(endpoint.url, {"content-type": "application/json"}, body)


def outcome(status: int, body: bytes) -> DeliveryOutcome:
    """Return how an attempt ended: a status of its own for each error, a word in the body."""
    found = answers.by_status(status)
    word = body.strip()
    if not found.accepted and word in _GONE:
        return DeliveryOutcome(status, f"{found.error}: {word.decode()}", gone=True)
    return found


def _payload(notice: OutboxNotice) -> dict[str, Any]:
    text = wording.text(notice)
    title = text.title[: LONGEST_HEADER - 1]
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(title)}]
    for label, row in text.rows[: MOST_BLOCKS - 2]:
        blocks.append({"type": "section", "text": _plain(f"{label}: {row}")})
    if text.link:
        button = {"type": "button", "text": _plain("Open in the console"), "url": text.link}
        blocks.append({"type": "actions", "elements": [button]})
    fallback = f"{_MARKS[text.level]} {_escaped(text.title)}"
    return {
        "text": fallback,
        "blocks": blocks,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
    }


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
