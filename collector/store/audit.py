"""The audit trail: which human did what, when, and with which token."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from . import columns, conditions, documents
from .tables_history import audit


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One human action. `at` is in seconds since the epoch; `subject` an id, "" where none.

    `token` is the name of the token in the settings, `author` who said to have done it.
    """

    id: str
    at: float
    token: str
    author: str
    action: str
    subject: str
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    number: int = 0


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which actions: None takes all; `since`, `until` in seconds since the epoch."""

    action: str | None = None
    token: str | None = None
    author: str | None = None
    subject: str | None = None
    since: float | None = None
    until: float | None = None


def add(db: Connection, done: AuditRow) -> None:
    """Write an action, unless it is written already."""
    if db.execute(select(audit.c.number).where(audit.c.id == done.id)).first() is not None:
        return
    db.execute(
        insert(audit).values(
            id=done.id,
            at=done.at,
            token=done.token,
            author=done.author,
            action=done.action,
            subject=done.subject,
            details=documents.written(done.details),
        )
    )


def page(
    db: Connection, wanted: AuditFilter, *, limit: int, before: int | None = None
) -> list[AuditRow]:
    """Return actions, the newest first, those numbered below `before`."""
    same = conditions.equal(
        {
            audit.c.action: wanted.action,
            audit.c.token: wanted.token,
            audit.c.author: wanted.author,
            audit.c.subject: wanted.subject,
        }
    )
    query = select(audit).where(*same).order_by(audit.c.number.desc()).limit(limit)
    if wanted.since is not None:
        query = query.where(audit.c.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(audit.c.at < wanted.until)
    if before is not None:
        query = query.where(audit.c.number < before)
    return [_done(row) for row in db.execute(query)]


def trim(db: Connection, *, before: float) -> int:
    """Delete actions older than that; return how many."""
    return db.execute(delete(audit).where(audit.c.at < before)).rowcount


def _done(row: Row[Any]) -> AuditRow:
    return AuditRow(**{**columns.by_name(row), "details": json.loads(row.details)})
