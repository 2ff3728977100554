"""What the storing stage, the API and the deliverer ask of the store, a transaction each.

Safe to call from any thread. Whoever subscribes is called for each change after it is kept.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from ...alerts.ports import StorableChange
from ...vocabulary.ids import Fault
from ..journal.actions import RecordedAction
from ..settings.store import WebhookSettings
from . import (
    audit,
    endpoints,
    handling,
    history,
    incidents,
    learnt,
    mutes,
    outbox,
)
from .audit import AuditRow
from .checked import CheckStore
from .database import IncidentDatabase
from .fencing import PartitionFence, hold
from .incidents import IncidentFilter, IncidentPage, RecordedChange
from .launched import LauncherStore
from .mutes import DeliveryMute, MuteKind
from .notified import EndpointStore
from .records import RecordStore
from .remedied import RemedyStore

Listener = Callable[[Sequence[RecordedChange]], None]

_LEARNING = ("feedback", "withdraw", "forget")
"""Actions that change what was learnt."""


class IncidentDatabaseStore(CheckStore, EndpointStore, LauncherStore, RecordStore, RemedyStore):
    """Incidents, what people did about them, who is notified, and what is still to be sent.

    Opening it brings the database up to date. Raises UnusableError when that cannot be done, and
    RefusedError when two of the configured endpoints have the same name. `console` is the address
    of the console as receivers reach it, empty where none is configured.
    """

    def __init__(
        self,
        url: str,
        *,
        webhooks: Sequence[WebhookSettings] | None = None,
        console: str = "",
        now: float = 0.0,
        owner: str = "",
    ) -> None:
        """`owner` names this collector among those that share the database.

        Without `webhooks` the configured endpoints stay as they are: who opens it to read changes
        nothing for the collector that it belongs to.
        """
        super().__init__(IncidentDatabase(url), console=console, owner=owner)
        self._listeners: tuple[Listener, ...] = ()
        self._everywhere: tuple[Listener, ...] = ()
        self._learners: tuple[Callable[[Mapping[Fault, int]], None], ...] = ()
        self._listening = threading.Lock()
        try:
            if webhooks is not None:
                with self._database.write() as db:
                    for identity in endpoints.synchronise(db, webhooks, now):
                        outbox.gone(db, identity, "the webhook left the settings", now)
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        self._database.close()

    def check(self) -> None:
        """Raise UnusableError unless the database answers."""
        self._database.check()

    def time(self) -> float | None:
        """Return the clock of a database for several, in s since the epoch; None of one's own."""
        return self._database.time()

    def subscribe(self, listener: Listener, *, everywhere: bool = False) -> Callable[[], None]:
        """Call `listener` after every transaction that changed incidents; return how to stop it.

        It is called in the thread that wrote, so it must be quick and must not raise. With
        `everywhere` it is called for what other collectors wrote too.
        """
        with self._listening:
            self._listeners = (*self._listeners, listener)
            if everywhere:
                self._everywhere = (*self._everywhere, listener)

        def stop() -> None:
            with self._listening:
                self._listeners = tuple(row for row in self._listeners if row is not listener)
                self._everywhere = tuple(row for row in self._everywhere if row is not listener)

        return stop

    # What evaluation decided

    def commit(
        self, changes: Sequence[StorableChange], now: float, *, fence: PartitionFence | None = None
    ) -> None:
        """Keep changes and what is to be sent about them in one transaction, each only once.

        What is known already, or is older than what is known, is passed over. May be called again
        with the same changes after an error. Raises FencedError where `fence` is out of date.
        """
        if not changes:
            return
        with self._database.write() as db:
            if fence is not None:
                hold(db, fence)
            news = [row for change in changes if (row := incidents.record(db, change))]
            news = history.numbered(db, news, now)
            self._enqueue(db, news, now)
        self._publish(news)

    def incidents(
        self,
        wanted: IncidentFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
        permits: Callable[[Sequence[str]], bool] = lambda _jobs: True,
    ) -> IncidentPage:
        """Return documents, the newest onset first. Raises ValueError for a foreign cursor."""
        with self._database.read() as db:
            return incidents.page(
                db, wanted or IncidentFilter(), limit=limit, cursor=cursor, permits=permits
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

    def enter(
        self,
        entered: RecordedAction,
        changes: Sequence[StorableChange],
        now: float,
        *,
        fence: PartitionFence | None = None,
    ) -> None:
        """Keep what a person did, received at `now`, and the changes it made, each only once.

        An incident or a mute that is not there is passed over: who enters actions looks first.
        """
        action = entered.action
        with self._database.write() as db:
            if fence is not None:
                hold(db, fence)
            news: list[RecordedChange] = []
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

    def mutes(self, kind: MuteKind) -> list[DeliveryMute]:
        """Return all silences or maintenance windows, the newest first."""
        with self._database.read() as db:
            return mutes.every(db, kind)

    def find_mute(self, kind: MuteKind, identity: str) -> DeliveryMute:
        """Return a silence or maintenance window. Raises UnknownIdError."""
        with self._database.read() as db:
            return mutes.find(db, kind, identity)

    def trim_incidents(self, *, before: float) -> int:
        """Delete resolved incidents without a change since then; return how many."""
        with self._database.write() as db:
            return incidents.trim(db, before=before)

    def _enqueue(self, db: Connection, news: Sequence[RecordedChange], now: float) -> None:
        if not news:
            return
        everybody = [row.endpoint for row in endpoints.every(db) if row.endpoint.enabled]
        # A cause may become sure enough in a change that is no news to people.
        subscribers = [endpoint for endpoint in everybody if endpoint.subscribes]
        if not everybody:
            return
        held_by = mutes.active(db, now)
        # Whoever delivers it looks by the database's clock: it is due at once, not when that
        # has come to where the clock of this collector is.
        due_at = min(now, self._database.now(db)) if self._database.shared else now
        for row in news:
            to = everybody if row.notify else subscribers
            if to:
                outbox.enqueue(db, row, to=to, held_by=held_by, now=now, due_at=due_at)

    def written_elsewhere(self, news: Sequence[RecordedChange]) -> None:
        """Pass on what another collector wrote to those that subscribed to everything."""
        for listener in self._everywhere:
            listener(news)

    def claim_partition(self, fence: PartitionFence) -> None:
        """Shut out earlier owners of a partition. Raises FencedError where there is a later one."""
        with self._database.write() as db:
            hold(db, fence)

    def _publish(self, news: Sequence[RecordedChange]) -> None:
        if news:
            for listener in self._listeners:
                listener(news)


def _audited(entered: RecordedAction) -> AuditRow:
    """Return an action of the journal as a row of the audit trail."""
    action = entered.action
    return AuditRow(
        id=entered.id,
        at=action.at,
        token=entered.token,
        author=action.by,
        action=action.kind,
        subject=str(action.incident or action.detail.get("mute") or entered.id),
        details=action.detail,
    )
