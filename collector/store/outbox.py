"""Rows of the outbox: what is to be sent, in order, and how it fared."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from sqlalchemy import Connection, Row, and_, case, delete, func, insert, or_, select, update

from ...alerts import notify
from ...alerts.notify import routing, webhook
from ...alerts.notify.traits import FormatTraits
from ...alerts.ports import (
    UNAVAILABLE,
    DeliveryOutcome,
    NotifiedEndpoint,
    OutboxDelivery,
    OutboxNotice,
)
from . import bodies, endpoints, gathering, mutes
from .incidents import RecordedChange
from .mutes import DeliveryMute
from .tables import outbox, webhooks

State = Literal["pending", "delivered", "dead", "suppressed"]
STATES: tuple[State, ...] = ("pending", "delivered", "dead", "suppressed")

_CALM_SECONDS = 4.0
"""After a failed attempt, nothing more is sent to people's channels for so long."""
_REPEAT_AGAIN_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class OutboxEntry:
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
    db: Connection,
    news: RecordedChange,
    *,
    to: Sequence[NotifiedEndpoint],
    held_by: Sequence[DeliveryMute],
    now: float,
    due_at: float,
) -> None:
    """Write one message for every endpoint that wants this; what a mute holds back is recorded.

    `now` is the time of evaluation, `due_at` that of delivery: their clocks may differ.

    What is no news to people is only ever the first message of an incident to an endpoint.
    """
    document = dict(news.document)
    mute = mutes.holding(held_by, document)
    written: dict[str, bytes] = {}
    for endpoint in to:
        identity = _identity(endpoint.id, document["id"], news)
        states, written_before = _states(db, endpoint.id, document["id"], identity)
        if written_before:
            continue
        valid = bool(states - {"suppressed"})
        if not news.notify and states:
            continue
        type_ = routing.wanted(endpoint, news.kind, document, valid=valid)
        if type_ is None:
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
                body=_body(endpoint, OutboxNotice(type_, news.at, document), written),
                created_at=now,
                due_at=due_at,
                attempts=0,
                state="suppressed" if held else "pending",
                finished_at=now if held else None,
                last_error=held,
            )
        )


def _body(endpoint: NotifiedEndpoint, notice: OutboxNotice, written: dict[str, bytes]) -> bytes:
    """Return the notice as it is kept: nothing for people, who get the present state anyway."""
    if _traits(endpoint).delivery == "digest":
        return b""
    if notice.type not in written:
        written[notice.type] = bodies.packed(webhook.message(notice))
    return written[notice.type]


def _traits(endpoint: NotifiedEndpoint) -> FormatTraits:
    return notify.FORMATS[endpoint.format].TRAITS


def _states(db: Connection, endpoint: str, incident: str, identity: str) -> tuple[set[str], bool]:
    """Return the states of an endpoint's messages about an incident; whether this one is there."""
    this = func.max(case((outbox.c.webhook_id == identity, 1), else_=0))
    rows = db.execute(
        select(outbox.c.state, this)
        .where(outbox.c.endpoint == endpoint, outbox.c.incident == incident)
        .group_by(outbox.c.state)
    ).all()
    return {state for state, _ in rows}, any(found for _, found in rows)


def _identity(endpoint: str, incident: str, news: RecordedChange) -> str:
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
    repeats = db.execute(select(webhooks.c.id).where(gathering.repeating(now)))
    return list(dict.fromkeys([*rows.scalars(), *repeats.scalars()]))


def next_delivery(
    db: Connection, endpoint: str, now: float, *, console: str = ""
) -> tuple[NotifiedEndpoint, OutboxDelivery] | None:
    """Return the next message, None when nothing is due: what was tried least goes first.

    An incident's messages keep their order: when a newer one is due, the oldest of them goes.
    """
    found = endpoints.find_any(db, endpoint)
    if not found.enabled or found.not_before > now:
        return None
    if _traits(found).delivery != "history":
        delivery = gathering.next_message(db, found, now, console)
        return None if delivery is None else (found, delivery)
    mine = and_(outbox.c.endpoint == endpoint, outbox.c.state == "pending")
    due = db.execute(
        select(outbox.c.incident, outbox.c.attempts)
        .where(mine, outbox.c.due_at <= now)
        .order_by(outbox.c.attempts, outbox.c.number)
        .limit(1)
    ).one_or_none()
    if due is None:
        return None
    row = db.execute(
        select(outbox)
        .where(mine, outbox.c.incident == due.incident)
        .order_by(outbox.c.number)
        .limit(1)
    ).one()
    return found, OutboxDelivery(row.number, _notice(db, row, console), row.incident, due.attempts)


def _notice(db: Connection, row: Row[Any], console: str) -> OutboxNotice:
    """Return what a row holds; the present state where it was written for people, and moved."""
    if row.body:
        return webhook.notice(bodies.unpacked(row.body), identity=row.webhook_id, console=console)
    document = gathering.present(db, row.incident) or {"id": row.incident}
    return OutboxNotice(row.type, row.created_at, document, id=row.webhook_id, console=console)


def delivered(
    db: Connection, endpoint: str, delivery: OutboxDelivery, outcome: DeliveryOutcome, now: float
) -> None:
    """Mark a message as taken, and make due at once what waits for an endpoint that is back.

    It is as if it had not been tried: refusals of messages before it must not delay a page by
    minutes when its own turn comes and is refused once.
    """
    _finish(db, delivery, "delivered", outcome, now)
    db.execute(
        update(outbox)
        .where(
            outbox.c.endpoint == endpoint,
            outbox.c.state == "pending",
            outbox.c.attempts > 0,
            # What the receiver itself turned down (400, 500) is not better for others' success.
            or_(outbox.c.last_status.is_(None), outbox.c.last_status.in_(UNAVAILABLE)),
        )
        .values(due_at=now, attempts=0)
    )
    found = endpoints.find_any(db, endpoint)
    endpoints.accepted(db, found, now)
    if (seconds := _traits(found).repeat_seconds) is not None:
        lasting = gathering.anything_open(db, endpoint)
        endpoints.repeat(db, endpoint, now + seconds if lasting else None)


def failed(
    db: Connection,
    endpoint: str,
    delivery: OutboxDelivery,
    outcome: DeliveryOutcome,
    *,
    due_at: float | None,
    now: float,
) -> None:
    """Mark a failed attempt: due again at `due_at`, or given up (None).

    It counts for every message that was due and had been tried as often: all that wait there when
    the receiver was unavailable, else those of the same incident, or in the same message. Those
    tried more often only wait as long.
    """
    about = gathering.cohort(endpoint, delivery, everything=outcome.unavailable)
    due = and_(about, outbox.c.due_at <= now)
    alike = and_(due, outbox.c.attempts == delivery.attempts)
    values = {
        "attempts": delivery.attempts + 1,
        "last_status": outcome.status,
        "last_error": outcome.error,
    }
    if due_at is None:
        _finish(db, delivery, "dead", outcome, now)
        if outcome.unavailable:
            db.execute(update(outbox).where(alike).values(**values, state="dead", finished_at=now))
        else:  # the next one is another message, never tried itself
            db.execute(update(outbox).where(alike).values(attempts=0))
    else:
        later = and_(due, outbox.c.attempts > delivery.attempts)
        db.execute(update(outbox).where(later).values(due_at=due_at))
        db.execute(update(outbox).where(alike).values(**values, due_at=due_at))
    found = endpoints.find_any(db, endpoint)
    calm = _CALM_SECONDS if _traits(found).delivery == "digest" else 0.0
    if calm or outcome.retry_after is not None:
        endpoints.hold(db, endpoint, now + max(calm, outcome.retry_after or 0.0))
    if _traits(found).repeat_seconds is not None:
        endpoints.repeat(db, endpoint, now + _REPEAT_AGAIN_SECONDS)


def expire(db: Connection, *, before: float, now: float) -> int:
    """Give up what was written before then and never taken; return how many."""
    old = and_(outbox.c.state == "pending", outbox.c.created_at < before, outbox.c.attempts > 0)
    values = {"state": "dead", "finished_at": now}
    return db.execute(update(outbox).where(old).values(**values)).rowcount


def gone(db: Connection, endpoint: str, reason: str, now: float) -> None:
    """Give up everything that waits for an endpoint."""
    db.execute(
        update(outbox)
        .where(outbox.c.endpoint == endpoint, outbox.c.state == "pending")
        .values(state="dead", finished_at=now, last_error=reason)
    )


def _finish(
    db: Connection, delivery: OutboxDelivery, state: State, outcome: DeliveryOutcome, now: float
) -> None:
    rows = outbox.c.number == delivery.number
    if delivery.carrier is not None:
        rows = and_(outbox.c.carrier == delivery.carrier, outbox.c.number <= delivery.number)
    db.execute(
        update(outbox)
        # Only while pending: the endpoint may have been deleted while the message was under way.
        .where(rows, outbox.c.state == "pending")
        .values(
            state=state,
            attempts=outbox.c.attempts + 1,
            finished_at=now,
            last_status=outcome.status,
            last_error=outcome.error,
        )
    )


def history(
    db: Connection, endpoint: str, *, state: State | None, limit: int, before: int | None
) -> list[OutboxEntry]:
    """Return messages for an endpoint, the newest first; `before`: only with smaller numbers."""
    columns = (outbox.c[one.name] for one in fields(OutboxEntry))
    query = select(*columns).where(outbox.c.endpoint == endpoint)
    if state is not None:
        query = query.where(outbox.c.state == state)
    if before is not None:
        query = query.where(outbox.c.number < before)
    rows = db.execute(query.order_by(outbox.c.number.desc()).limit(limit))
    return [OutboxEntry(*row) for row in rows]


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
