"""One message for all that waits at an endpoint, with the present state: digests and alerts.

Which rows of the outbox a message carries is written before its first attempt (`carrier`), so that
a retry, after a crash too, has the same id. What comes meanwhile joins it. Documents are read when
the message is made: rows for people hold none, and take little space while an endpoint is away.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    case,
    func,
    select,
    update,
)

from ...alerts import notify
from ...alerts.notify import webhook
from ...alerts.notify.traits import MOST_LISTED, MOST_OF_STATE
from ...alerts.ports import NotifiedEndpoint, OutboxDelivery, OutboxNotice
from . import action_rows, bodies, documents
from .tables import incidents, outbox, webhooks

MOST_REPEATED = 1000
"""Open incidents that an endpoint is sent again and again; of more, the oldest end there."""

Waiting = Row[int, str, str, str, float, float, int, str | None]


def next_message(
    db: Connection, endpoint: NotifiedEndpoint, now: float, console: str
) -> OutboxDelivery | None:
    """Return what to send now to an endpoint whose format folds; None when nothing is due."""
    traits = notify.FORMATS[endpoint.format].TRAITS
    rows = _pending(db, endpoint.id)
    due = [row.attempts for row in rows if row.due_at <= now]
    if traits.delivery == "state":
        repeats = _repeats(db, endpoint.id, now)
        if not due and not repeats:
            return None
        chosen = _of_first_incidents(rows) if due else []
        return _state(db, endpoint, chosen, repeats, now, console, min(due, default=0))
    if not due:
        return None
    if traits.grouped:
        chosen, carrier = _group(db, endpoint.id, rows)
    else:
        chosen, carrier = rows, rows[0].carrier or rows[0].webhook_id
    _carry(db, chosen, carrier)
    states = ("pending", "delivered") if traits.grouped else ("pending",)
    members = select(outbox.c.incident).where(
        outbox.c.endpoint == endpoint.id,
        outbox.c.carrier == carrier,
        outbox.c.state.in_(states),
    )
    attempts = min((row.attempts for row in chosen if row.due_at <= now), default=min(due))
    notice = _notice(db, members, chosen, carrier, now, console)
    about = {row.incident for row in chosen}
    incident = chosen[0].incident if len(about) == 1 else ""
    return OutboxDelivery(chosen[-1].number, notice, incident, attempts, carrier)


def anything_open(db: Connection, endpoint: str) -> bool:
    """Return whether an incident that the endpoint was sent is not over."""
    return db.execute(_open_there(endpoint).limit(1)).first() is not None


def repeating(now: float) -> ColumnElement[bool]:
    """Return the condition for endpoints that want the present state again."""
    return and_(webhooks.c.enabled, webhooks.c.not_before <= now, webhooks.c.repeat_at <= now)


def present(db: Connection, incident: str) -> dict[str, Any] | None:
    """Return an incident's document as it is now, None when it is not kept any more."""
    rows = db.execute(
        select(incidents.c.id, incidents.c.document).where(incidents.c.id == incident)
    ).all()
    return next(iter(_shown(db, rows)), None)


def cohort(endpoint: str, delivery: OutboxDelivery, *, everything: bool) -> ColumnElement[bool]:
    """Return the condition for pending rows that an attempt was about.

    `everything`: the receiver was unavailable, so the attempt stands for all that waits there.
    """
    mine = and_(outbox.c.endpoint == endpoint, outbox.c.state == "pending")
    if everything:
        return mine
    if delivery.carrier is not None:
        return and_(mine, outbox.c.carrier == delivery.carrier)
    return and_(mine, outbox.c.incident == delivery.incident)


def _pending(db: Connection, endpoint: str) -> Sequence[Waiting]:
    columns = outbox.c
    return db.execute(
        select(
            columns.number,
            columns.webhook_id,
            columns.incident,
            columns.type,
            columns.created_at,
            columns.due_at,
            columns.attempts,
            columns.carrier,
        )
        .where(columns.endpoint == endpoint, columns.state == "pending")
        .order_by(columns.number)
    ).all()


def _group(db: Connection, endpoint: str, rows: Sequence[Waiting]) -> tuple[Sequence[Waiting], str]:
    """Return the rows for one id of a receiver that keeps ids, and that id.

    Incidents that are new to the receiver come first, all under one id. What follows about an
    incident goes under the id by which the receiver got it.
    """
    pending = select(outbox.c.incident).where(
        outbox.c.endpoint == endpoint, outbox.c.state == "pending"
    )
    found = db.execute(
        select(outbox.c.incident, outbox.c.carrier)
        .where(
            outbox.c.endpoint == endpoint,
            outbox.c.state == "delivered",
            outbox.c.carrier.is_not(None),
            outbox.c.incident.in_(pending),
        )
        .order_by(outbox.c.number.desc())
    )
    known: dict[str, str] = {row.incident: row.carrier for row in found}
    new = [row for row in rows if row.incident not in known]
    if new:
        return new, new[0].carrier or new[0].webhook_id
    carrier = known[rows[0].incident]
    return [row for row in rows if known[row.incident] == carrier], carrier


def _carry(db: Connection, rows: Iterable[Waiting], carrier: str) -> None:
    changed = [{"row": row.number, "by": carrier} for row in rows if row.carrier != carrier]
    if changed:
        db.execute(
            update(outbox)
            .where(outbox.c.number == bindparam("row"))
            .values(carrier=bindparam("by")),
            changed,
        )


def _notice(
    db: Connection,
    members: Any,
    rows: Sequence[Waiting],
    carrier: str,
    now: float,
    console: str,
) -> OutboxNotice:
    """Return the notice: of one incident its document, of several a digest."""
    counts: dict[str, dict[str, int]] = {}
    state = select(incidents.c.status, incidents.c.severity, func.count())
    for status, severity, number in db.execute(
        state.where(incidents.c.id.in_(members)).group_by(incidents.c.status, incidents.c.severity)
    ):
        counts.setdefault(status, {})[severity] = number
    worst = db.execute(
        select(incidents.c.id, incidents.c.document)
        .where(incidents.c.id.in_(members))
        .order_by(
            case((incidents.c.status == "resolved", 1), else_=0),
            case({"critical": 0, "warning": 1}, value=incidents.c.severity, else_=2),
            incidents.c.opened_at,
            incidents.c.id,
        )
        .limit(MOST_LISTED)
    ).all()
    shown = _shown(db, worst)
    types = list(dict.fromkeys(row.type for row in rows))
    digest = {"counts": counts, "happenings": types, "incidents": shown}
    alone = shown[0] if len(shown) == 1 else None
    return OutboxNotice(
        "digest" if alone is None else _type(alone, types),
        now,
        digest if alone is None else alone,
        id=carrier,
        console=console,
        stands_for=len(rows),
        since=min(row.created_at for row in rows),
    )


def _type(document: dict[str, Any], types: Sequence[str]) -> str:
    """Return what several happenings of one incident come to."""
    if document["status"] == "resolved":
        return "incident.resolved"
    if "incident.opened" in types:
        return "incident.opened"
    acknowledged = document["status"] == "acknowledged" and "incident.acknowledged" in types
    return "incident.acknowledged" if acknowledged else "incident.updated"


def _of_first_incidents(rows: Sequence[Waiting]) -> Sequence[Waiting]:
    """Return the rows of as many incidents as one message takes, those that wait longest."""
    first = list(dict.fromkeys(row.incident for row in rows))[:MOST_OF_STATE]
    return [row for row in rows if row.incident in set(first)]


def _repeats(db: Connection, endpoint: str, now: float) -> Sequence[str]:
    asked = select(webhooks.c.id).where(webhooks.c.id == endpoint, repeating(now))
    if db.execute(asked).first() is None:
        return []
    newest_first = _open_there(endpoint).order_by(incidents.c.opened_at.desc(), incidents.c.id)
    return list(db.execute(newest_first.limit(MOST_REPEATED)).scalars())


def _open_there(endpoint: str) -> Select[Any]:
    sent = select(outbox.c.incident).where(
        outbox.c.endpoint == endpoint, outbox.c.state == "delivered"
    )
    return select(incidents.c.id).where(incidents.c.status != "resolved", incidents.c.id.in_(sent))


def _state(
    db: Connection,
    endpoint: NotifiedEndpoint,
    rows: Sequence[Waiting],
    repeats: Sequence[str],
    now: float,
    console: str,
    attempts: int,
) -> OutboxDelivery:
    about = list(dict.fromkeys([*(row.incident for row in rows), *repeats]))
    found = db.execute(
        select(incidents.c.id, incidents.c.document)
        .where(incidents.c.id.in_(about))
        .order_by(incidents.c.opened_at, incidents.c.id)
    ).all()
    carrier = (rows[0].carrier or rows[0].webhook_id) if rows else None
    if carrier is not None:
        _carry(db, rows, carrier)
    notice = OutboxNotice(
        "state",
        now,
        {"incidents": _shown(db, found), "before": _before(db, endpoint.id, about)},
        id=carrier or "repeat",
        console=console,
        stands_for=max(len(rows), 1),
        since=min((row.created_at for row in rows), default=now),
    )
    return OutboxDelivery(rows[-1].number if rows else 0, notice, "", attempts, carrier)


def _before(db: Connection, endpoint: str, about: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the endpoint was last sent about these incidents."""
    last = (
        select(func.max(outbox.c.number))
        .where(
            outbox.c.endpoint == endpoint,
            outbox.c.state == "delivered",
            outbox.c.incident.in_(about),
        )
        .group_by(outbox.c.incident)
    )
    rows = db.execute(select(outbox.c.body).where(outbox.c.number.in_(last)))
    return [webhook.notice(bodies.unpacked(body)).data for body in rows.scalars() if body]


def _shown(db: Connection, rows: Sequence[Row[Any, Any]]) -> list[dict[str, Any]]:
    done = action_rows.of_each(db, [identity for identity, _ in rows])
    return [documents.shown(json.loads(text), done.get(identity, [])) for identity, text in rows]
