"""The `wecom` format: a text message to a group robot of WeCom.

Plain text, not markdown: there `<@user>` would mention somebody. It has no signature: the key in
its address is the secret.
"""

import json

from ..ports import Endpoint, Notice, Outcome, Request
from . import answers, dingtalk
from .traits import QUIET, Traits

NAME = "wecom"
TRAITS = Traits(
    delivery="digest",
    credential="none",
    credential_help="wecom takes none: the key in its address is the secret",
    per_minute=QUIET,
    most_per_minute=20,
)

MOST_BYTES = 2048
_TOO_FAST = (45009,)
_MEANINGS = {
    40058: "the robot cannot read the message",
    45009: "more than 20 messages in a minute",
    93000: "the key in the address is wrong, or the robot was removed",
}


def request(endpoint: Endpoint, notice: Notice, at: float) -> Request:  # noqa: ARG001
    """Return the request of one attempt."""
    content = {
        "msgtype": "text",
        "text": {"content": dingtalk.chat(notice, MOST_BYTES), "mentioned_list": []},
    }
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return Request(endpoint.url, {"content-type": "application/json; charset=utf-8"}, body)


def outcome(status: int, body: bytes) -> Outcome:
    """Return how an attempt ended: errors come as a code within a 200."""
    return answers.by_code(
        status,
        body,
        keys=("errcode",),
        texts=("errmsg",),
        meanings=_MEANINGS,
        busy=_TOO_FAST,
        busy_seconds=60.0,
    )
