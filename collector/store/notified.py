"""Who is notified, what was sent and is to be sent: asked by the API and by the deliverer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...alerts.ports import DeliveryOutcome, NotifiedEndpoint, OutboxDelivery
from . import claims, endpoints, outbox, schedule
from .endpoints import RegisteredEndpoint
from .outbox import OutboxEntry, State
from .parts import StorePart


@dataclass(frozen=True, slots=True)
class OutboxState:
    """How the outbox stands: messages by state, and when the oldest pending one was written."""

    messages: Mapping[State, int]
    oldest_pending_at: float | None


class EndpointStore(StorePart):
    """Endpoints and their outbox, a transaction each."""

    def add_webhook(self, endpoint: NotifiedEndpoint, now: float) -> RegisteredEndpoint:
        """Keep an endpoint. Raises RefusedError when there are too many."""
        with self._database.write() as db:
            endpoints.add(db, endpoint, now)
            return endpoints.find(db, endpoint.id)

    def webhooks(self) -> list[RegisteredEndpoint]:
        """Return all endpoints, the oldest first."""
        with self._database.read() as db:
            return endpoints.every(db)

    def webhook(self, identity: str) -> RegisteredEndpoint:
        """Return an endpoint. Raises UnknownIdError."""
        with self._database.read() as db:
            return endpoints.find(db, identity)

    def remove_webhook(self, identity: str, now: float) -> None:
        """Delete an endpoint. Raises UnknownIdError, and RefusedError for a configured one."""
        with self._database.write() as db:
            endpoints.remove(db, identity, now)
            outbox.gone(db, identity, "the webhook was deleted", now)

    def deliveries(
        self,
        webhook: str,
        *,
        state: State | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> list[OutboxEntry]:
        """Return an endpoint's messages, the newest first. Raises UnknownIdError."""
        with self._database.read() as db:
            endpoints.find(db, webhook)
            return outbox.history(db, webhook, state=state, limit=limit, before=before)

    def replay(self, webhook: str, *, states: Sequence[State], since: float, now: float) -> int:
        """Make messages due again, under their old webhook-ids. Raises UnknownIdError."""
        with self._database.write() as db:
            endpoints.find(db, webhook)
            return outbox.replay(db, webhook, states=states, since=since, now=now)

    # The outbox, for the deliverer

    def waiting(self, now: float) -> list[str]:
        """Return the ids of endpoints for which something is due."""
        with self._database.read() as db:
            return outbox.waiting(db, now)

    def next_delivery(
        self, endpoint: str, now: float
    ) -> tuple[NotifiedEndpoint, OutboxDelivery] | None:
        """Return the next message, None when nothing is due there.

        None too while another collector delivers to this endpoint (see `claims`).
        """
        if self._database.shared:
            with self._database.claim() as db:
                if not claims.take(db, endpoint, owner=self._owner):
                    return None
        with self._database.write() as db:  # which rows a message carries is kept
            found = outbox.next_delivery(db, endpoint, now, console=self._console)
            if found is None and self._database.shared:
                claims.give_back(db, endpoint, owner=self._owner)
            return found

    def delivered(
        self, endpoint: str, delivery: OutboxDelivery, outcome: DeliveryOutcome, now: float
    ) -> None:
        """Mark a message as taken."""
        with self._database.write() as db:
            outbox.delivered(db, endpoint, delivery, outcome, now)

    def failed(
        self,
        endpoint: str,
        delivery: OutboxDelivery,
        outcome: DeliveryOutcome,
        *,
        due_at: float | None,
        now: float,
    ) -> None:
        """Mark a failed attempt: due again at `due_at`, or given up (None)."""
        with self._database.write() as db:
            outbox.failed(db, endpoint, delivery, outcome, due_at=due_at, now=now)

    def gone(
        self, endpoint: str, delivery: OutboxDelivery, outcome: DeliveryOutcome, now: float
    ) -> None:
        """Disable an endpoint that said it is gone, and give up what waits for it."""
        with self._database.write() as db:
            outbox.failed(db, endpoint, delivery, outcome, due_at=None, now=now)
            reason = outcome.error if outcome.gone else None
            reason = reason or "the receiver answered 410 Gone"
            endpoints.disable(db, endpoint, reason)
            outbox.gone(db, endpoint, reason, now)

    def expire(self, *, now: float) -> int:
        """Give up messages that nobody took for days; return how many."""
        before = now - schedule.LONGEST_PENDING_SECONDS
        with self._database.write() as db:
            return outbox.expire(db, before=before, now=now)

    def trim(self, *, before: float) -> int:
        """Delete finished messages older than that; return how many."""
        with self._database.write() as db:
            return outbox.trim(db, before=before)

    def queue(self) -> OutboxState:
        with self._database.read() as db:
            return OutboxState(*outbox.standing(db))
