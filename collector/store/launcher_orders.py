"""Rows of what agents are asked to do to ranks that torchrun started: asked, told, answered."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, insert, select, update

from . import columns
from .tables_launchers import launcher_orders as rows_of

LauncherDeed = Literal["restart", "leave"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherOrderRecord:
    """What is asked of one host; times are seconds since the epoch, see `tables_launchers`."""

    action: str
    host: str
    job: str
    what: LauncherDeed
    at: float
    until: float
    taken_at: float | None = None
    answer: Literal["", "done", "refused"] = ""
    text: str = ""


def add(db: Connection, records: Sequence[LauncherOrderRecord]) -> None:
    """Ask for what is not asked yet."""
    for record in records:
        query = select(rows_of.c.at).where(*_same(record.action, record.host))
        if db.execute(query).first() is None:
            db.execute(insert(rows_of).values(asdict(record)))


def waiting(db: Connection, host: str, now: float) -> list[LauncherOrderRecord]:
    """Return what the agent of a host has not answered yet and is still wanted."""
    query = select(rows_of).where(
        rows_of.c.host == host, rows_of.c.until >= now, rows_of.c.answer == ""
    )
    return [_record(row) for row in db.execute(query.order_by(rows_of.c.at))]


def tell(db: Connection, records: Sequence[LauncherOrderRecord], now: float) -> None:
    """Note that an agent was told."""
    for record in records:
        if record.taken_at is None:
            where = _same(record.action, record.host)
            db.execute(update(rows_of).where(*where).values(taken_at=now))


def answer(db: Connection, action: str, host: str, given: str, text: str) -> bool:
    """Keep the first answer of an agent; return whether it was asked at all."""
    where = _same(action, host)
    if db.execute(select(rows_of.c.at).where(*where)).first() is None:
        return False
    values = {"answer": given, "text": text}
    db.execute(update(rows_of).where(*where, rows_of.c.answer == "").values(values))
    return True


def of_action(db: Connection, action: str) -> list[LauncherOrderRecord]:
    """Return what was asked for an action, by host."""
    query = select(rows_of).where(rows_of.c.action == action).order_by(rows_of.c.host)
    return [_record(row) for row in db.execute(query)]


def trim(db: Connection, *, before: float) -> int:
    """Delete what was asked before that time; return how much."""
    return db.execute(delete(rows_of).where(rows_of.c.at < before)).rowcount


def _same(action: str, host: str) -> tuple[Any, Any]:
    return rows_of.c.action == action, rows_of.c.host == host


def _record(row: Row[Any]) -> LauncherOrderRecord:
    return LauncherOrderRecord(**columns.by_name(row))
