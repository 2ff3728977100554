"""What the storing stage, the API and the deliverer ask of the store, a transaction each.

Safe to call from any thread. Whoever subscribes is called for each change after it is kept.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from ...alerts.ports import Delivery, Endpoint, IncidentChange, Outcome
from ...vocabulary.ids import Fault
from ..actions import Entered
from . import (
    audit,
    claims,
    costs,
    endpoints,
    handling,
    history,
    incidents,
    learnt,
    mutes,
    outbox,
    schedule,
    usage,
)
from .audit import AuditFilter, Done
from .costs import Costs
from .database import Database
from .endpoints import Registered
from .incidents import Filter, Page, Recorded
from .mutes import Mute, MuteKind
from .outbox import Entry, State
from .settings import WebhookSettings
from .usage import Usage

Listener = Callable[[Sequence[Recorded]], None]

_LEARNING = ("feedback", "withdraw", "forget")
"""Actions that change what was learnt."""


@dataclass(frozen=True, slots=True)
class Queue:
    """How the outbox stands: messages by state, and when the oldest pending one was written."""

    messages: Mapping[State, int]
    oldest_pending_at: float | None


class Store:
    """Incidents, what people did about them, who is notified, and what is still to be sent.

    Opening it brings the database up to date. Raises UnusableError when that cannot be done, and
    RefusedError when two of the configured endpoints have the same name. `console` is the address
    of the console as receivers reach it, empty where none is configured.
    """

    def __init__(
        self,
        url: str,
        *,
        webhooks: Sequence[WebhookSettings] = (),
        console: str = "",
        now: float = 0.0,
        owner: str = "",
    ) -> None:
        """`owner` names this collector among those that share the database."""
        self._database = Database(url)
        self._console = console
        self._owner = owner
        self._listeners: tuple[Listener, ...] = ()
        self._learners: tuple[Callable[[Mapping[Fault, int]], None], ...] = ()
        self._listening = threading.Lock()
        try:
            with self._database.write() as db:
                for identity in endpoints.synchronise(db, webhooks, now):
                    outbox.gone(db, identity, "the webhook left the settings", now)
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def check(self) -> None:
        """Raise UnusableError unless the database answers."""
        self._database.check()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every transaction that changed incidents; return how to stop it.

        It is called in the thread that wrote, so it must be quick and must not raise.
        """
        with self._listening:
            self._listeners = (*self._listeners, listener)

        def stop() -> None:
            with self._listening:
                self._listeners = tuple(row for row in self._listeners if row is not listener)

        return stop

    # What evaluation decided

    def commit(self, changes: Sequence[IncidentChange], now: float) -> None:
        """Keep changes and what is to be sent about them in one transaction, each only once.

        What is known already, or is older than what is known, is passed over. May be called again
        with the same changes after an error.
        """
        if not changes:
            return
        with self._database.write() as db:
            news = [row for change in changes if (row := incidents.record(db, change))]
            news = history.numbered(db, news, now)
            self._enqueue(db, news, now)
        self._publish(news)

    def incidents(
        self,
        wanted: Filter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
        permits: Callable[[Sequence[str]], bool] = lambda _jobs: True,
    ) -> Page:
        """Return documents, the newest onset first. Raises ValueError for a foreign cursor."""
        with self._database.read() as db:
            return incidents.page(
                db, wanted or Filter(), limit=limit, cursor=cursor, permits=permits
            )

    def incident(self, identity: str) -> dict[str, Any] | None:
        """Return an incident's document with what people did, None when there is none."""
        with self._database.read() as db:
            return incidents.find(db, identity)

    def newest_change_at(self) -> float | None:
        """Return the newest time of a change that evaluation decided, None where there is none."""
        with self._database.read() as db:
            return incidents.newest_change_at(db)

    # What people do

    def enter(self, entered: Entered, changes: Sequence[IncidentChange], now: float) -> None:
        """Keep what a person did, received at `now`, and the changes it made, each only once.

        An incident or a mute that is not there is passed over: who enters actions looks first.
        """
        action = entered.action
        with self._database.write() as db:
            news: list[Recorded] = []
            if action.kind in ("silence", "maintenance"):
                mutes.add(db, mutes.entered(entered.id, action, now))
            elif action.kind == "unsilence":
                mutes.discard(db, str(action.detail.get("mute", "")))
            elif action.incident is not None:
                news = handling.enter(db, entered, changes)
            learnt.follow(db, action)
            confirmed = learnt.counts(db) if action.kind in _LEARNING else None
            audit.add(db, _audited(entered))
            news = history.numbered(db, news, now)
            self._enqueue(db, news, now)
        self._publish(news)
        if confirmed is not None:
            for learn in self._learners:
                learn(confirmed)

    def confirmed(self) -> dict[Fault, int]:
        """Return how many incidents people confirmed of each fault."""
        with self._database.read() as db:
            return learnt.counts(db)

    def subscribe_learnt(self, learn: Callable[[Mapping[Fault, int]], None]) -> None:
        """Call `learn` with `confirmed` now and whenever an action changes it, in its thread."""
        with self._listening:
            self._learners = (*self._learners, learn)
        learn(self.confirmed())

    def mutes(self, kind: MuteKind) -> list[Mute]:
        """Return all silences or maintenance windows, the newest first."""
        with self._database.read() as db:
            return mutes.every(db, kind)

    def find_mute(self, kind: MuteKind, identity: str) -> Mute:
        """Return a silence or maintenance window. Raises UnknownIdError."""
        with self._database.read() as db:
            return mutes.find(db, kind, identity)

    # Who is notified

    def add_webhook(self, endpoint: Endpoint, now: float) -> Registered:
        """Keep an endpoint. Raises RefusedError when there are too many."""
        with self._database.write() as db:
            endpoints.add(db, endpoint, now)
            return endpoints.find(db, endpoint.id)

    def webhooks(self) -> list[Registered]:
        """Return all endpoints, the oldest first."""
        with self._database.read() as db:
            return endpoints.every(db)

    def webhook(self, identity: str) -> Registered:
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
    ) -> list[Entry]:
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

    def next_delivery(self, endpoint: str, now: float) -> tuple[Endpoint, Delivery] | None:
        """Return the next message, None when nothing is due there.

        None too while another collector delivers to this endpoint (see `claims`).
        """
        if self._database.shared:
            with self._database.claim() as db:
                if not claims.take(db, endpoint, owner=self._owner, now=now):
                    return None
        with self._database.write() as db:  # which rows a message carries is kept
            found = outbox.next_delivery(db, endpoint, now, console=self._console)
            if found is None and self._database.shared:
                claims.give_back(db, endpoint, owner=self._owner)
            return found

    def delivered(self, endpoint: str, delivery: Delivery, outcome: Outcome, now: float) -> None:
        """Mark a message as taken."""
        with self._database.write() as db:
            outbox.delivered(db, endpoint, delivery, outcome, now)

    def failed(
        self,
        endpoint: str,
        delivery: Delivery,
        outcome: Outcome,
        *,
        due_at: float | None,
        now: float,
    ) -> None:
        """Mark a failed attempt: due again at `due_at`, or given up (None)."""
        with self._database.write() as db:
            outbox.failed(db, endpoint, delivery, outcome, due_at=due_at, now=now)

    def gone(self, endpoint: str, delivery: Delivery, outcome: Outcome, now: float) -> None:
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

    def trim_incidents(self, *, before: float) -> int:
        """Delete resolved incidents without a change since then; return how many."""
        with self._database.write() as db:
            return incidents.trim(db, before=before)

    # What happened

    def audit(self, done: Done) -> None:
        """Keep what a person did that is no entry of the journal."""
        with self._database.write() as db:
            audit.add(db, done)

    def audited(
        self, wanted: AuditFilter, *, limit: int = 50, before: int | None = None
    ) -> list[Done]:
        """Return what people did, the newest first, numbered below `before`."""
        with self._database.read() as db:
            return audit.page(db, wanted, limit=limit, before=before)

    def newest_change(self) -> int:
        """Return the number of the newest change of an incident, 0 where there is none."""
        with self._database.read() as db:
            return history.newest(db)

    def changes_after(self, number: int) -> list[Recorded] | None:
        """Return the changes after one, None where that one is not kept any more."""
        with self._database.read() as db:
            return history.after(db, number)

    def use(self, rows: Sequence[Usage]) -> None:
        """Keep from when to when jobs ran."""
        with self._database.write() as db:
            usage.keep(db, rows)

    def usage(self) -> list[Usage]:
        """Return from when to when jobs ran, week by week."""
        with self._database.read() as db:
            return usage.every(db)

    def trim_history(self, *, before: float) -> int:
        """Delete what people did and jobs used before that; return how many rows."""
        with self._database.write() as db:
            return audit.trim(db, before=before) + usage.trim(db, before=before)

    # What it all adds up to

    def costs(self) -> list[Costs]:
        """Return what every incident took and cost, for statistics."""
        with self._database.read() as db:
            return costs.every(db)

    def queue(self) -> Queue:
        """Return how the outbox stands."""
        with self._database.read() as db:
            return Queue(*outbox.standing(db))

    def _enqueue(self, db: Connection, news: Sequence[Recorded], now: float) -> None:
        if not news:
            return
        everybody = [row.endpoint for row in endpoints.every(db) if row.endpoint.enabled]
        # A cause may become sure enough in a change that is no news to people.
        subscribers = [endpoint for endpoint in everybody if endpoint.subscribes]
        held_by = mutes.active(db, now) if everybody else ()
        for row in news:
            to = everybody if row.notify else subscribers
            if to:
                outbox.enqueue(db, row, to=to, held_by=held_by, now=now)

    def _publish(self, news: Sequence[Recorded]) -> None:
        if news:
            for listener in self._listeners:
                listener(news)


def _audited(entered: Entered) -> Done:
    """Return an action of the journal as a row of the audit trail."""
    action = entered.action
    return Done(
        id=entered.id,
        at=action.at,
        token=entered.token,
        author=action.by,
        action=action.kind,
        subject=str(action.incident or action.detail.get("mute") or entered.id),
        details=action.detail,
    )
