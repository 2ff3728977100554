"""Adding a notifier, on the example of plain text: one line for each notice.

`python -m tools.new notifier NAME` copies it to `alerts/notify/`, lists it in FORMATS of
`alerts/notify/__init__.py`, so that endpoints can name it, and adds its row to
`docs/notifications.md`. tests/alerts/notify/test_adding_a_notifier.py follows these steps.

`request` is called for every attempt, and may sign with its time; the same notice gives the same
message under the same id. `outcome` says what the answer means. Neither opens a connection:
sending, retries, folding and silences are the outbox's.
"""

from rankscope.alerts.notify import answers
from rankscope.alerts.notify.traits import FormatTraits
from rankscope.alerts.ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from rankscope.vocabulary.times import rfc3339

NAME = "text"
TRAITS = FormatTraits(credential="none", credential_help="plain text has no signature")


def request(endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:  # noqa: ARG001
    """Return one line: when, how bad, what happened, and the summary."""
    what = notice.type.removeprefix("incident.")
    # A test message has a text, and neither a severity nor a summary.
    severity = notice.data.get("severity", "info")
    summary = notice.data.get("summary") or notice.data["text"]
    body = f"{rfc3339(notice.at)} {severity} {what}: {summary}\n".encode()
    headers = {"content-type": "text/plain; charset=utf-8", "webhook-id": notice.id}
    return HttpPost(endpoint.url, headers, body)


def outcome(status: int, body: bytes) -> DeliveryOutcome:  # noqa: ARG001
    """Return how an attempt ended: any 2xx is success, whatever the answer says."""
    return answers.by_status(status)
