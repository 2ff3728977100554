"""Rows of actions about causes, read: one, some, those about which something is to be done."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, or_, select

from ...vocabulary.remedies import EXCLUDING, RemedyKind, RemedyMode
from . import columns, conditions
from .errors import UnknownIdError
from .tables_remedies import remedies, remedy_steps

LEASE_SECONDS = 60.0
"""Longer than any single request of an executor; it is renewed before each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyRecord:
    """An action as it is kept. Times are seconds since the epoch; see `tables_remedies`."""

    number: int
    id: str
    incident: str
    job: str
    attempt: int
    fault: str
    entity: Mapping[str, Any]
    host: str | None
    action: RemedyKind
    executor: str
    mode: RemedyMode
    state: str
    reason: str
    probability: float | None
    planned_at: float
    due_at: float
    started_at: float | None
    ended_at: float | None
    owner: str
    lease_until: float
    seen: Mapping[str, Any]
    measured: Mapping[str, Any]
    undo: str
    undo_at: float | None
    outcome: str | None
    outcome_at: float | None
    after_seconds: float | None


@dataclass(frozen=True, slots=True)
class RemedyStep:
    """One change of an action: its state or outcome, who made it and why."""

    number: int
    remedy: str
    at: float
    state: str
    author: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyFilter:
    """Which actions: None takes all; `since` in seconds since the epoch, of when it was planned.

    `job` and `fault` are patterns.
    """

    state: str | None = None
    mode: str | None = None
    outcome: str | None = None
    incident: str | None = None
    host: str | None = None
    executor: str | None = None
    since: float | None = None
    job: str | None = None
    fault: str | None = None


def find(db: Connection, identity: str) -> RemedyRecord:
    """Return an action. Raises UnknownIdError."""
    row = db.execute(select(remedies).where(remedies.c.id == identity)).one_or_none()
    if row is None:
        raise UnknownIdError(f"there is no action {identity!r}")
    return _record(row)


def waiting(db: Connection, now: float) -> list[RemedyRecord]:
    """Return what something is to be done about, the oldest first: due, abandoned, to be undone,
    or without a known outcome.
    """  # fmt: skip  # noqa: D205
    free = or_(remedies.c.lease_until <= now, remedies.c.lease_until > now + LEASE_SECONDS)
    rows = db.execute(
        select(remedies)
        .where(
            or_(
                remedies.c.state == "planned",
                and_(remedies.c.state == "started", free),
                and_(remedies.c.undo.in_(("wanted", "started")), free),
                and_(
                    remedies.c.state == "done",
                    remedies.c.mode == "act",
                    remedies.c.outcome.is_(None),
                ),
            )
        )
        .order_by(remedies.c.number)
    )
    return [_record(row) for row in rows]


def to_enter(db: Connection, limit: int) -> list[tuple[RemedyStep, RemedyRecord]]:
    """Return the oldest steps that no timeline has yet, each with its action."""
    oldest = select(remedy_steps).where(remedy_steps.c.entered.is_(False))
    rows = db.execute(oldest.order_by(remedy_steps.c.number).limit(limit)).all()
    return [(_as_step(row), find(db, row.remedy)) for row in rows]


def steps(db: Connection, identities: Sequence[str]) -> dict[str, list[RemedyStep]]:
    """Return the steps of some actions in their order, by action."""
    found: dict[str, list[RemedyStep]] = {}
    query = select(remedy_steps).where(remedy_steps.c.remedy.in_(identities))
    for row in db.execute(query.order_by(remedy_steps.c.number)):
        found.setdefault(row.remedy, []).append(_as_step(row))
    return found


def every(db: Connection, wanted: RemedyFilter) -> list[RemedyRecord]:
    """Return the actions that fit, the newest first."""
    same = conditions.equal(
        {
            remedies.c.state: wanted.state,
            remedies.c.mode: wanted.mode,
            remedies.c.outcome: wanted.outcome,
            remedies.c.incident: wanted.incident,
            remedies.c.host: wanted.host,
            remedies.c.executor: wanted.executor,
        }
    )
    query = select(remedies).where(*same).order_by(remedies.c.number.desc())
    if wanted.since is not None:
        query = query.where(remedies.c.planned_at >= wanted.since)
    rows = [_record(row) for row in db.execute(query)]
    return [
        row
        for row in rows
        if (wanted.job is None or fnmatchcase(row.job, wanted.job))
        and (wanted.fault is None or fnmatchcase(row.fault, wanted.fault))
    ]


def trim(db: Connection, *, before: float) -> int:
    """Delete actions that ended before that, other than those of nodes that are still out."""
    still_out = and_(remedies.c.action.in_(EXCLUDING), remedies.c.state == "done")
    gone = and_(
        remedies.c.ended_at < before,
        remedies.c.undo == "",
        or_(~still_out, remedies.c.mode == "dry_run"),
    )
    of_them = select(remedies.c.id).where(gone)
    db.execute(delete(remedy_steps).where(remedy_steps.c.remedy.in_(of_them)))
    return db.execute(delete(remedies).where(gone)).rowcount


def leased(row: RemedyRecord, now: float) -> bool:
    """Return whether somebody holds an action; longer than any lease: that clock was ahead."""
    return now < row.lease_until <= now + LEASE_SECONDS


def _as_step(row: Row[Any]) -> RemedyStep:
    return RemedyStep(row.number, row.remedy, row.at, row.state, row.author, row.text)


def _record(row: Row[Any]) -> RemedyRecord:
    values = columns.by_name(row)
    for name in ("entity", "seen", "measured"):
        values[name] = json.loads(values[name])
    return RemedyRecord(**values)
