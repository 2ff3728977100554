"""What the group robots of DingTalk and WeCom share: plain text, and an `errcode` within a 200.

Plain text, not markdown: what tenants write cannot become markup there. `@` is written wide, so
that nobody is mentioned.
"""

from collections.abc import Collection, Mapping
from typing import Any

from ..ports import DeliveryOutcome, HttpPost, OutboxNotice
from . import answers, bodies, plain, wording


def request(url: str, content: Mapping[str, Any]) -> HttpPost:
    headers = {"content-type": "application/json; charset=utf-8"}
    return HttpPost(url, headers, bodies.encoded(content))


def chat(notice: OutboxNotice, most: int) -> str:
    """Return the text for a chat without markup, in at most so many bytes of UTF-8."""
    text = wording.text(notice)
    lines = [line.replace("@", "\uff20") for line in text.lines]
    return plain.fitting(lines, most, last=f"Console: {text.link}" if text.link else "")


def outcome(
    status: int,
    body: bytes,
    *,
    meanings: Mapping[int, str],
    busy: Collection[int],
    busy_seconds: float,
) -> DeliveryOutcome:
    """Return how an attempt ended; `meanings`, `busy`: see `answers.by_code`."""
    return answers.by_code(
        status,
        body,
        keys=("errcode",),
        texts=("errmsg",),
        meanings=meanings,
        busy=busy,
        busy_seconds=busy_seconds,
    )
