"""Rows of webhooks: who is notified. Those of the settings are written at every start."""

import base64
import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import Connection, Row, and_, func, insert, select, update

from ...alerts import notify
from ...alerts.ports import HAPPENINGS, NotifiedEndpoint
from ...vocabulary.faults import Severity
from ..settings.store import SECRET_PREFIX, WebhookSettings
from . import pacing
from .errors import RefusedError, UnknownIdError
from .tables import webhooks

MOST = 64
"""Endpoints at once: each may hold one thread of the deliverer for the length of a time-out."""


@dataclass(frozen=True, slots=True)
class RegisteredEndpoint:
    """An endpoint with what the API reports about it. Its `repr` must not reach a log: secrets."""

    endpoint: NotifiedEndpoint
    origin: str
    disabled_reason: str | None
    created_at: float


def new_secret() -> str:
    """Return a fresh signing secret: `whsec_` and base64 of 32 random bytes."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def redacted(url: str, *, whole: bool = False) -> str:
    """Return an address fit for an answer: user part and the values of the query are hidden.

    `whole`: the path is a token too.
    """
    parts = urlsplit(url)
    path = "/***" if whole else parts.path
    place = parts.netloc.rpartition("@")[2]
    if "@" in parts.netloc:
        place = f"***@{place}"
    query = "&".join(
        f"{pair.partition('=')[0]}=***" if "=" in pair else "***"
        for pair in parts.query.split("&")
        if pair
    )
    return urlunsplit((parts.scheme, place, path, query, ""))


def synchronise(db: Connection, configured: Sequence[WebhookSettings], now: float) -> list[str]:
    """Make the endpoints of the settings what the settings say; return the ids that went.

    A start is a new chance: an endpoint that had said it was gone is asked again.
    """
    kept = set()
    for row in configured:
        identity = _identity(row)
        if identity in kept:
            raise RefusedError(f"webhooks: two endpoints are called {identity}; give each a name")
        kept.add(identity)
        values = {
            "url": row.url.get_secret_value(),
            "secret": row.secret.get_secret_value(),
            "format": row.format,
            "events": json.dumps(row.events),
            "jobs": json.dumps(row.jobs),
            "severities": json.dumps(row.severities),
            "per_minute": row.per_minute,
            **_subscription(row),
            "origin": "settings",
            "enabled": True,
            "disabled_reason": None,
            "not_before": 0.0,
            "deleted_at": None,
        }
        known = select(webhooks.c.id).where(webhooks.c.id == identity)
        if db.execute(known).first() is None:
            db.execute(insert(webhooks).values(id=identity, created_at=now, **values))
        else:
            db.execute(update(webhooks).where(webhooks.c.id == identity).values(**values))
    old = select(webhooks.c.id).where(
        webhooks.c.origin == "settings", webhooks.c.deleted_at.is_(None)
    )
    left = [identity for (identity,) in db.execute(old).all() if identity not in kept]
    for identity in left:
        db.execute(
            update(webhooks)
            .where(webhooks.c.id == identity)
            .values(enabled=False, deleted_at=now, secret="")
        )
    return left


def _identity(row: WebhookSettings) -> str:
    """Return the id of a configured endpoint: the same at every start."""
    if row.name:
        return row.name
    return "wh_" + hashlib.sha256(row.url.get_secret_value().encode()).hexdigest()[:16]


def add(db: Connection, endpoint: NotifiedEndpoint, now: float) -> None:
    """Write an endpoint made through the API. Raises RefusedError when there are too many."""
    alive = select(func.count()).select_from(webhooks).where(webhooks.c.deleted_at.is_(None))
    if db.execute(alive).scalar_one() >= MOST:
        raise RefusedError(f"there are {MOST} webhooks already, the most that are kept")
    db.execute(
        insert(webhooks).values(
            id=endpoint.id,
            url=endpoint.url,
            secret=endpoint.secret,
            format=endpoint.format,
            events=json.dumps(endpoint.events),
            jobs=json.dumps(endpoint.jobs),
            severities=json.dumps(endpoint.severities),
            **_subscription(endpoint),
            origin="api",
            enabled=endpoint.enabled,
            not_before=0.0,
            per_minute=endpoint.per_minute,
            created_at=now,
        )
    )


def every(db: Connection) -> list[RegisteredEndpoint]:
    """Return all endpoints, the oldest first."""
    rows = db.execute(
        select(webhooks)
        .where(webhooks.c.deleted_at.is_(None))
        .order_by(webhooks.c.created_at, webhooks.c.id)
    )
    return [_registered(row) for row in rows]


def find(db: Connection, identity: str) -> RegisteredEndpoint:
    """Return an endpoint. Raises UnknownIdError."""
    row = db.execute(
        select(webhooks).where(and_(webhooks.c.id == identity, webhooks.c.deleted_at.is_(None)))
    ).one_or_none()
    if row is None:
        raise UnknownIdError(f"there is no webhook {identity}")
    return _registered(row)


def find_any(db: Connection, identity: str) -> NotifiedEndpoint:
    """Return an endpoint, a deleted one too. Raises UnknownIdError."""
    row = db.execute(select(webhooks).where(webhooks.c.id == identity)).one_or_none()
    if row is None:
        raise UnknownIdError(f"there is no webhook {identity}")
    return _registered(row).endpoint


def remove(db: Connection, identity: str, now: float) -> None:
    """Delete an endpoint. Raises UnknownIdError, and RefusedError for a configured one."""
    if find(db, identity).origin == "settings":
        raise RefusedError(f"webhook {identity} stands in the settings file; remove it there")
    db.execute(
        update(webhooks)
        .where(webhooks.c.id == identity)
        # The secret is of no use any more, and what is not kept cannot leak.
        .values(enabled=False, deleted_at=now, secret="")
    )


def disable(db: Connection, identity: str, reason: str) -> None:
    """Send an endpoint nothing any more."""
    db.execute(
        update(webhooks)
        .where(webhooks.c.id == identity)
        .values(enabled=False, disabled_reason=reason)
    )


def hold(db: Connection, identity: str, until: float) -> None:
    """Send an endpoint nothing until then (seconds since the epoch)."""
    db.execute(
        update(webhooks)
        .where(webhooks.c.id == identity, webhooks.c.not_before < until)
        .values(not_before=until)
    )


def accepted(db: Connection, endpoint: NotifiedEndpoint, now: float) -> None:
    """Note that a message to people was taken, and send no more than their rate allows."""
    traits = notify.FORMATS[endpoint.format].TRAITS
    per_minute = endpoint.per_minute or traits.per_minute
    if per_minute is None:
        return
    mine = webhooks.c.id == endpoint.id
    before = json.loads(db.execute(select(webhooks.c.sent).where(mine)).scalar_one())
    sent = [*before, now][-per_minute:]
    db.execute(update(webhooks).where(mine).values(sent=json.dumps(sent)))
    hold(db, endpoint.id, pacing.next_at(sent, per_minute))


def repeat(db: Connection, identity: str, at: float | None) -> None:
    """Send an endpoint the present state again then; None: not before something changes."""
    db.execute(update(webhooks).where(webhooks.c.id == identity).values(repeat_at=at))


def _subscription(row: WebhookSettings | NotifiedEndpoint) -> dict[str, Any]:
    return {
        "faults": json.dumps(row.faults),
        "min_probability": row.min_probability,
        "min_confidence": row.min_confidence,
    }


def _registered(row: Row[Any]) -> RegisteredEndpoint:
    events = tuple(event for event in HAPPENINGS if event in json.loads(row.events))
    return RegisteredEndpoint(
        endpoint=NotifiedEndpoint(
            id=row.id,
            url=row.url,
            secret=row.secret,
            format=row.format,
            events=events,
            jobs=tuple(json.loads(row.jobs)),
            severities=cast("tuple[Severity, ...]", tuple(json.loads(row.severities))),
            enabled=row.enabled,
            not_before=row.not_before,
            per_minute=row.per_minute,
            faults=tuple(json.loads(row.faults)),
            min_probability=row.min_probability,
            min_confidence=row.min_confidence,
        ),
        origin=row.origin,
        disabled_reason=row.disabled_reason,
        created_at=row.created_at,
    )
