"""Adding a notifier, on the example of plain text: one line for each notice.

1. A format is a module with NAME, TRAITS, `request` and `outcome`, in `alerts/notify/`.
2. One line in FORMATS of `alerts/notify/__init__.py` makes endpoints able to name it.
tests/alerts/notify/test_adding_a_notifier.py follows these steps.

`request` is called for every attempt, and may sign with its time; the same notice gives the same
message under the same id. `outcome` says what the answer means. Neither opens a connection:
sending, retries, folding and silences are the outbox's.
"""

from rankscope.alerts.notify import answers
from rankscope.alerts.notify.traits import Traits
from rankscope.alerts.ports import Endpoint, Notice, Outcome, Request
from rankscope.vocabulary.times import rfc3339

NAME = "text"
TRAITS = Traits(credential="none", credential_help="plain text has no signature")


def request(endpoint: Endpoint, notice: Notice, at: float) -> Request:  # noqa: ARG001
    """Return one line: when, how bad, what happened, and the summary."""
    what = notice.type.removeprefix("incident.")
    severity, summary = notice.data["severity"], notice.data["summary"]
    body = f"{rfc3339(notice.at)} {severity} {what}: {summary}\n".encode()
    headers = {"content-type": "text/plain; charset=utf-8", "webhook-id": notice.id}
    return Request(endpoint.url, headers, body)


def outcome(status: int, body: bytes) -> Outcome:  # noqa: ARG001
    """Return how an attempt ended: any 2xx is success, whatever the answer says."""
    return answers.by_status(status)
