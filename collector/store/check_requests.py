"""Rows of checks that people ask agents for: asked, told to the agent, failed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, update

from . import columns
from .tables_checks import check_requests as rows_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequestRecord:
    """One request; times are seconds since the epoch, see `tables_checks`."""

    id: str
    incident: str
    host: str
    check_name: str
    by_whom: str
    at: float
    until: float
    taken_at: float | None = None
    failed: str = ""


def add(db: Connection, record: CheckRequestRecord) -> CheckRequestRecord:
    """Ask for a check; return what is asked already, where it is the same one of the same host."""
    query = select(rows_of).where(
        rows_of.c.incident == record.incident,
        rows_of.c.host == record.host,
        rows_of.c.check_name == record.check_name,
        rows_of.c.failed == "",
        rows_of.c.until >= record.at,
    )
    held = db.execute(query).first()
    if held is not None:
        return _record(held)
    db.execute(insert(rows_of).values(asdict(record)))
    return record


def waiting(db: Connection, host: str, now: float) -> bool:
    """Return whether there is anything that the agent of a host has not been told yet."""
    return db.execute(_untold(host, now).limit(1)).first() is not None


def wanted(db: Connection, host: str, now: float) -> list[CheckRequestRecord]:
    """Return what the agent of a host has not been told yet; it is told now."""
    found = [_record(row) for row in db.execute(_untold(host, now))]
    for record in found:
        db.execute(update(rows_of).where(rows_of.c.id == record.id).values(taken_at=now))
    return found


def fail(db: Connection, identity: str, text: str) -> bool:
    """Note why there will be no result; return whether there is such a request."""
    changed = db.execute(update(rows_of).where(rows_of.c.id == identity).values(failed=text))
    return changed.rowcount > 0


def of_incident(db: Connection, incident: str) -> Sequence[CheckRequestRecord]:
    """Return what was asked for an incident, the newest first."""
    query = select(rows_of).where(rows_of.c.incident == incident).order_by(rows_of.c.at.desc())
    return [_record(row) for row in db.execute(query)]


def trim(db: Connection, *, before: float) -> int:
    """Delete requests from before that time; return how many."""
    return db.execute(delete(rows_of).where(rows_of.c.at < before)).rowcount


def _untold(host: str, now: float) -> Select[Any]:
    return select(rows_of).where(
        rows_of.c.host == host,
        rows_of.c.until >= now,
        rows_of.c.taken_at.is_(None),
        rows_of.c.failed == "",
    )


def _record(row: Row[Any]) -> CheckRequestRecord:
    return CheckRequestRecord(**columns.by_name(row))
