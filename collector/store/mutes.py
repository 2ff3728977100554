"""Rows of mutes: silences and maintenance windows. They hold deliveries back, never incidents."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, and_, delete, insert, select

from ...alerts.notify import routing
from ...alerts.notify.routing import Matcher
from .errors import UnknownIdError
from .tables import mutes

MuteKind = Literal["silence", "maintenance"]


@dataclass(frozen=True, slots=True)
class Mute:
    """A silence, or a maintenance window, from `starts_at` up to `ends_at` (epoch seconds)."""

    id: str
    kind: MuteKind
    matchers: tuple[Matcher, ...]
    starts_at: float
    ends_at: float
    author: str
    comment: str
    created_at: float

    def state(self, now: float) -> Literal["pending", "active", "expired"]:
        """Return where `now` lies."""
        if now < self.starts_at:
            return "pending"
        return "active" if now < self.ends_at else "expired"


def add(db: Connection, mute: Mute) -> Mute:
    """Write a mute under a new id and return it with that."""
    identity = secrets.token_hex(8)
    matchers = [[row.name, list(row.patterns), row.negate] for row in mute.matchers]
    db.execute(
        insert(mutes).values(
            id=identity,
            kind=mute.kind,
            matchers=json.dumps(matchers),
            starts_at=mute.starts_at,
            ends_at=mute.ends_at,
            author=mute.author,
            comment=mute.comment,
            created_at=mute.created_at,
        )
    )
    return Mute(
        identity,
        mute.kind,
        mute.matchers,
        mute.starts_at,
        mute.ends_at,
        mute.author,
        mute.comment,
        mute.created_at,
    )


def every(db: Connection, kind: MuteKind) -> list[Mute]:
    """Return all of a kind, the newest first."""
    newest_first = (mutes.c.created_at.desc(), mutes.c.id)
    rows = db.execute(select(mutes).where(mutes.c.kind == kind).order_by(*newest_first))
    return [_mute(row) for row in rows]


def remove(db: Connection, kind: MuteKind, identity: str) -> None:
    """Delete one. Raises UnknownIdError."""
    result = db.execute(delete(mutes).where(and_(mutes.c.id == identity, mutes.c.kind == kind)))
    if result.rowcount == 0:
        raise UnknownIdError(f"there is no {kind} {identity}")


def active(db: Connection, now: float) -> list[Mute]:
    """Return all that hold at `now`."""
    rows = db.execute(
        select(mutes)
        .where(mutes.c.starts_at <= now, mutes.c.ends_at > now)
        .order_by(mutes.c.created_at, mutes.c.id)
    )
    return [_mute(row) for row in rows]


def holding(found: Sequence[Mute], document: Mapping[str, Any]) -> Mute | None:
    """Return the first mute that fits an incident, None when nothing holds it back."""
    return next((row for row in found if routing.muted(row.matchers, document)), None)


def _mute(row: Row[Any]) -> Mute:
    return Mute(
        id=row.id,
        kind=row.kind,
        matchers=tuple(
            Matcher(name, tuple(patterns), negate)
            for name, patterns, negate in json.loads(row.matchers)
        ),
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        author=row.author,
        comment=row.comment,
        created_at=row.created_at,
    )
