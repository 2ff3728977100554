"""Rows of the outbox: what is to be sent, in order, and how it fared."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, or_, select, update

from ...alerts import notify
from ...alerts.notify import routing
from ...alerts.ports import Delivery, Endpoint, Notice, Outcome
from . import endpoints, mutes
from .incidents import Recorded
from .mutes import Mute
from .tables import outbox, webhooks

State = Literal["pending", "delivered", "dead", "suppressed"]
STATES: tuple[State, ...] = ("pending", "delivered", "dead", "suppressed")

UNAVAILABLE = (429, 502, 503, 504)
"""Answers that speak of the receiver's state and not of the message."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message as the API reports about it."""

    number: int
    webhook_id: str
    incident: str
    type: str
    state: State
    created_at: float
    due_at: float
    attempts: int
    finished_at: float | None
    last_status: int | None
    last_error: str | None


def enqueue(
    db: Connection, news: Recorded, *, to: Sequence[Endpoint], held_by: Sequence[Mute], now: float
) -> None:
    """Write one message for every endpoint that wants this; what a mute holds back is recorded.

    What is no news to people is only ever the first message of an incident to an endpoint.
    """
    document = dict(news.document)
    mute = mutes.holding(held_by, document)
    for endpoint in to:
        states = _states(db, endpoint.id, document["id"])
        valid = bool(states - {"suppressed"})
        if not news.notify and states:
            continue
        type_ = routing.wanted(endpoint, news.kind, document, valid=valid)
        if type_ is None:
            continue
        identity = _identity(endpoint.id, document["id"], news)
        if db.execute(select(outbox.c.number).where(outbox.c.webhook_id == identity)).first():
            continue
        held = f"{mute.kind} {mute.id}" if mute else None
        if held is None and states == {"suppressed"} and type_ in routing.ENDINGS:
            held = "the receiver never got this incident"
        db.execute(
            insert(outbox).values(
                webhook_id=identity,
                endpoint=endpoint.id,
                incident=document["id"],
                type=type_,
                body=notify.FORMATS[endpoint.format].body(Notice(type_, news.at, document)),
                created_at=now,
                due_at=now,
                attempts=0,
                state="suppressed" if held else "pending",
                finished_at=now if held else None,
                last_error=held,
            )
        )


def _states(db: Connection, endpoint: str, incident: str) -> set[str]:
    mine = and_(outbox.c.endpoint == endpoint, outbox.c.incident == incident)
    return set(db.execute(select(outbox.c.state).where(mine).distinct()).scalars())


def _identity(endpoint: str, incident: str, news: Recorded) -> str:
    """Return a webhook-id: the same whenever the same change is reported to the same endpoint."""
    words = f"{endpoint}\n{incident}\n{news.kind}\n{news.key}"
    digest = hashlib.sha256(words.encode()).digest()[:20]
    return "msg_" + base64.b32encode(digest).decode().lower()


def waiting(db: Connection, now: float) -> list[str]:
    """Return the ids of endpoints for which something is due, the longest waiting first."""
    due = and_(outbox.c.state == "pending", outbox.c.due_at <= now)
    ready = and_(webhooks.c.enabled, webhooks.c.not_before <= now)
    rows = db.execute(
        select(outbox.c.endpoint)
        .join(webhooks, webhooks.c.id == outbox.c.endpoint)
        .where(due, ready)
        .group_by(outbox.c.endpoint)
        .order_by(func.min(outbox.c.due_at), outbox.c.endpoint)
    )
    return list(rows.scalars())


def next_delivery(db: Connection, endpoint: str, now: float) -> tuple[Endpoint, Delivery] | None:
    """Return the oldest due message whose incident has no older one pending at this endpoint."""
    older = outbox.alias("older")
    first = ~exists().where(
        older.c.endpoint == outbox.c.endpoint,
        older.c.incident == outbox.c.incident,
        older.c.state == "pending",
        older.c.number < outbox.c.number,
    )
    row = db.execute(
        select(outbox)
        .join(webhooks, webhooks.c.id == outbox.c.endpoint)
        .where(
            outbox.c.endpoint == endpoint,
            outbox.c.state == "pending",
            outbox.c.due_at <= now,
            webhooks.c.enabled,
            webhooks.c.not_before <= now,
            first,
        )
        .order_by(outbox.c.number)
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    delivery = Delivery(row.number, row.webhook_id, row.incident, row.type, row.body, row.attempts)
    return endpoints.find(db, endpoint).endpoint, delivery


def delivered(
    db: Connection, endpoint: str, delivery: Delivery, outcome: Outcome, now: float
) -> None:
    """Mark a message as taken, and make due at once what waits for an endpoint that is back."""
    _finish(db, delivery, "delivered", outcome, now)
    db.execute(
        update(outbox)
        .where(
            outbox.c.endpoint == endpoint,
            outbox.c.state == "pending",
            outbox.c.attempts > 0,
            outbox.c.due_at > now,
            # What the receiver itself turned down (400, 500) is not better for others' success.
            or_(outbox.c.last_status.is_(None), outbox.c.last_status.in_(UNAVAILABLE)),
        )
        .values(due_at=now)
    )


def failed(
    db: Connection,
    endpoint: str,
    delivery: Delivery,
    outcome: Outcome,
    *,
    due_at: float | None,
    now: float,
) -> None:
    """Mark a failed attempt: due again at `due_at`, or given up (None)."""
    if due_at is None:
        _finish(db, delivery, "dead", outcome, now)
    else:
        db.execute(
            _mine(delivery).values(
                attempts=delivery.attempts + 1,
                due_at=due_at,
                last_status=outcome.status,
                last_error=outcome.error,
            )
        )
    if outcome.retry_after is not None:
        endpoints.hold(db, endpoint, now + outcome.retry_after)


def gone(db: Connection, endpoint: str, reason: str, now: float) -> None:
    """Give up everything that waits for an endpoint."""
    db.execute(
        update(outbox)
        .where(outbox.c.endpoint == endpoint, outbox.c.state == "pending")
        .values(state="dead", finished_at=now, last_error=reason)
    )


def _mine(delivery: Delivery) -> Any:
    # Only while pending: the endpoint may have been deleted while the message was under way.
    return update(outbox).where(outbox.c.number == delivery.number, outbox.c.state == "pending")


def _finish(db: Connection, delivery: Delivery, state: State, outcome: Outcome, now: float) -> None:
    db.execute(
        _mine(delivery).values(
            state=state,
            attempts=delivery.attempts + 1,
            finished_at=now,
            last_status=outcome.status,
            last_error=outcome.error,
        )
    )


def history(
    db: Connection, endpoint: str, *, state: State | None, limit: int, before: int | None
) -> list[Entry]:
    """Return messages for an endpoint, the newest first; `before`: only with smaller numbers."""
    query = select(outbox).where(outbox.c.endpoint == endpoint)
    if state is not None:
        query = query.where(outbox.c.state == state)
    if before is not None:
        query = query.where(outbox.c.number < before)
    rows = db.execute(query.order_by(outbox.c.number.desc()).limit(limit))
    return [_entry(row) for row in rows]


def replay(
    db: Connection, endpoint: str, *, states: Sequence[State], since: float, now: float
) -> int:
    """Make messages due again under their old webhook-ids; return how many."""
    again = and_(
        outbox.c.endpoint == endpoint,
        outbox.c.state.in_(states),
        outbox.c.created_at >= since,
    )
    result = db.execute(
        update(outbox)
        .where(again)
        .values(state="pending", due_at=now, attempts=0, finished_at=None)
    )
    return result.rowcount


def standing(db: Connection) -> tuple[dict[State, int], float | None]:
    """Return how many messages are in each state, and when the oldest pending one was written."""
    counts = dict.fromkeys(STATES, 0)
    for state, count in db.execute(select(outbox.c.state, func.count()).group_by(outbox.c.state)):
        counts[state] = count
    oldest = db.execute(
        select(func.min(outbox.c.created_at)).where(outbox.c.state == "pending")
    ).scalar_one()
    return counts, oldest


def trim(db: Connection, *, before: float) -> int:
    """Delete finished messages older than that; return how many. Pending ones always stay."""
    finished = and_(outbox.c.state != "pending", outbox.c.finished_at < before)
    return db.execute(delete(outbox).where(finished)).rowcount


def _entry(row: Row[Any]) -> Entry:
    return Entry(
        row.number,
        row.webhook_id,
        row.incident,
        row.type,
        row.state,
        row.created_at,
        row.due_at,
        row.attempts,
        row.finished_at,
        row.last_status,
        row.last_error,
    )
