"""The `wecom` format: a text message to a group robot of WeCom.

In markdown `<@user>` would mention somebody. It has no signature: the key in its address is the
secret.
"""

from ..ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from . import robots
from .traits import QUIET, FormatTraits

NAME = "wecom"
TRAITS = FormatTraits(
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


def request(endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:  # noqa: ARG001
    content = {
        "msgtype": "text",
        "text": {"content": robots.chat(notice, MOST_BYTES), "mentioned_list": []},
    }
    return robots.request(endpoint.url, content)


def outcome(status: int, body: bytes) -> DeliveryOutcome:
    """Return how an attempt ended: errors come as a code within a 200."""
    return robots.outcome(status, body, meanings=_MEANINGS, busy=_TOO_FAST, busy_seconds=60.0)
