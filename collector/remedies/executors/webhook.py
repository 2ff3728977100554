"""A program of the site carries actions out: each is one signed message, the same at every attempt.

Standard Webhooks, as notices are. `webhook-id` is the action's id: whoever has seen it answers as
it did, and does nothing again. 2xx: done; 202, or a body with `"state": "accepted"`: under way, to
be asked again; a body with `"state": "refused"`, or 4xx: it will not be done. All else: asked
again.
"""

import json
from collections.abc import Mapping
from typing import Any

from ....alerts.notify import webhook
from ....alerts.ports import DeliveryOutcome, HttpPost, OutboxNotice
from ....vocabulary.clock import Clock
from ....vocabulary.remedies import REMEDY_KINDS, RemedyKind
from ...settings.actions import ExecutorSettings
from ...store import sending
from .contract import Allowed, RefusedOrderError, RemedyOrder, UnansweredOrderError

_ACCEPTED = 202
_LATER = (401, 403, 404, 408, 409, 425, 429)
"""4xx that speak of the receiver, or of one that is not set up yet."""


class WebhookExecutor:
    """A receiver of orders."""

    asks_only_what_is_left = False

    def __init__(self, settings: ExecutorSettings, clock: Clock, send: Any = sending.send) -> None:
        self.kinds: frozenset[RemedyKind] = frozenset(settings.actions or REMEDY_KINDS)
        self._url = settings.url.get_secret_value()
        self._secret = settings.secret.get_secret_value()
        self._clock = clock
        self._send = send

    def look(self, order: RemedyOrder) -> Mapping[str, Any]:  # noqa: ARG002
        """Return nothing: how things are is the receiver's to know."""
        return {}

    def carry_out(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:  # noqa: ARG002
        """Post the order."""
        return self._post("action.ordered", order.id, order, allowed)

    def undo(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:  # noqa: ARG002
        """Post that it is to be taken back."""
        return self._post("action.undo", f"{order.id}-undo", order, allowed)

    def _post(self, kind: str, identity: str, order: RemedyOrder, allowed: Allowed) -> str:
        now = self._clock.now()
        # The order's own time: each attempt has the same bytes.
        body = webhook.message(OutboxNotice(kind, order.at, dict(order.document)))
        headers = {
            "content-type": "application/json",
            **webhook.signed(self._secret, identity, body, now),
        }
        answers: list[bytes] = []

        def read(status: int, content: bytes) -> DeliveryOutcome:
            answers.append(content)
            return webhook.outcome(status, content)

        allowed()
        outcome = self._send(HttpPost(self._url, headers, body), outcome=read, now=self._clock.now)
        if outcome.status is None:
            raise UnansweredOrderError(str(outcome.error))
        state, text = _said(answers[-1])
        if outcome.accepted:
            if state == "refused":
                raise RefusedOrderError(text or "the receiver refused it")
            if state == "accepted" or (outcome.status == _ACCEPTED and state != "done"):
                raise UnansweredOrderError(text or "the receiver is at it")
            return text or f"the receiver answered {outcome.status}"
        why = text or str(outcome.error)
        if 400 <= outcome.status < 500 and outcome.status not in _LATER:
            raise RefusedOrderError(why)
        raise UnansweredOrderError(why)


def executor(settings: ExecutorSettings, clock: Clock) -> WebhookExecutor:
    return WebhookExecutor(settings, clock)


def _said(body: bytes) -> tuple[str, str]:
    """Return `state` and `text` of an answer, empty where it has none."""
    try:
        found = json.loads(body)
    except ValueError:
        return "", ""
    if not isinstance(found, dict):
        return "", ""
    return str(found.get("state", ""))[:32], str(found.get("text", ""))[:300]
