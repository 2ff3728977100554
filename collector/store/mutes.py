"""Rows of mutes: silences and maintenance windows. They hold deliveries back, never incidents."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, and_, delete, insert, select

from ...alerts.actions import PersonAction
from ...alerts.notify import routing
from ...alerts.notify.routing import RouteMatcher
from . import columns
from .errors import UnknownIdError
from .tables import mutes

MuteKind = Literal["silence", "maintenance"]


@dataclass(frozen=True, slots=True)
class DeliveryMute:
    """A silence, or a maintenance window, from `starts_at` up to `ends_at` (epoch seconds)."""

    id: str
    kind: MuteKind
    matchers: tuple[RouteMatcher, ...]
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


def entered(identity: str, action: PersonAction, now: float) -> DeliveryMute:
    """Return the mute that an action asks for; its id is the action's."""
    detail = action.detail
    return DeliveryMute(
        id=identity,
        kind="maintenance" if action.kind == "maintenance" else "silence",
        matchers=tuple(
            RouteMatcher(str(name), tuple(patterns), bool(negate))
            for name, patterns, negate in detail["matchers"]
        ),
        starts_at=float(detail["starts_at"]),
        ends_at=float(detail["ends_at"]),
        author=action.by,
        comment=str(detail.get("comment", "")),
        created_at=now,
    )


def detail(mute: DeliveryMute) -> dict[str, Any]:
    """Return what `entered` needs in an action's detail."""
    return {
        "matchers": [[row.name, list(row.patterns), row.negate] for row in mute.matchers],
        "starts_at": mute.starts_at,
        "ends_at": mute.ends_at,
        "comment": mute.comment,
    }


def add(db: Connection, mute: DeliveryMute) -> None:
    """Write a mute, unless there is one of its id."""
    if db.execute(select(mutes.c.id).where(mutes.c.id == mute.id)).one_or_none() is not None:
        return
    matchers = [[row.name, list(row.patterns), row.negate] for row in mute.matchers]
    db.execute(
        insert(mutes).values(
            id=mute.id,
            kind=mute.kind,
            matchers=json.dumps(matchers),
            starts_at=mute.starts_at,
            ends_at=mute.ends_at,
            author=mute.author,
            comment=mute.comment,
            created_at=mute.created_at,
        )
    )


def find(db: Connection, kind: MuteKind, identity: str) -> DeliveryMute:
    """Return one. Raises UnknownIdError."""
    query = select(mutes).where(and_(mutes.c.id == identity, mutes.c.kind == kind))
    row = db.execute(query).one_or_none()
    if row is None:
        raise UnknownIdError(f"there is no {kind} {identity}")
    return _mute(row)


def every(db: Connection, kind: MuteKind) -> list[DeliveryMute]:
    """Return all of a kind, the newest first."""
    newest_first = (mutes.c.created_at.desc(), mutes.c.id)
    rows = db.execute(select(mutes).where(mutes.c.kind == kind).order_by(*newest_first))
    return [_mute(row) for row in rows]


def discard(db: Connection, identity: str) -> None:
    """Delete one, where there is such a one."""
    db.execute(delete(mutes).where(mutes.c.id == identity))


def active(db: Connection, now: float) -> list[DeliveryMute]:
    """Return all that hold at `now`."""
    rows = db.execute(
        select(mutes)
        .where(mutes.c.starts_at <= now, mutes.c.ends_at > now)
        .order_by(mutes.c.created_at, mutes.c.id)
    )
    return [_mute(row) for row in rows]


def holding(found: Sequence[DeliveryMute], document: Mapping[str, Any]) -> DeliveryMute | None:
    """Return the first mute that fits an incident, None when nothing holds it back."""
    return next((row for row in found if routing.muted(row.matchers, document)), None)


def _mute(row: Row[Any]) -> DeliveryMute:
    matchers = tuple(
        RouteMatcher(name, tuple(patterns), negate)
        for name, patterns, negate in json.loads(row.matchers)
    )
    values = columns.by_name(row)
    values["matchers"] = matchers
    return DeliveryMute(**values)
