"""Adding a notifier, on the example of plain text: one line for each notice.

1. A format is a module with NAME, `body` and `headers`, in `alerts/notify/`.
2. One line in FORMATS of `alerts/notify/__init__.py` makes endpoints able to name it.
tests/alerts/notify/test_adding_a_notifier.py follows these steps.

The body is written once, kept in the outbox and sent again as it is, so it holds no time of the
attempt. Headers are written for every attempt. Neither opens a connection: sending, retries and
silences are the outbox's.
"""

from rankscope.alerts.ports import Notice
from rankscope.vocabulary.times import rfc3339

NAME = "text"


def body(notice: Notice) -> bytes:
    """Return the message: what happened, how bad, when, and the summary."""
    what = notice.type.removeprefix("incident.")
    severity, summary = notice.data["severity"], notice.data["summary"]
    return f"{rfc3339(notice.at)} {severity} {what}: {summary}\n".encode()


def headers(*, webhook_id: str, body: bytes, secret: str, at: float) -> dict[str, str]:  # noqa: ARG001
    """Return the headers of one attempt; receivers drop an id that they have seen."""
    return {"content-type": "text/plain; charset=utf-8", "webhook-id": webhook_id}
