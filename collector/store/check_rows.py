"""Rows of active checks: the newest of each device, what a kind of device measures, who failed."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, select

from . import columns, conditions
from .tables_checks import check_results as rows_of

KEPT = 20
"""Results that are kept of one check of one device."""
MOST_VALUES = 500
"""Hosts of a distribution, those that measured last."""
RECENT_SECONDS = 30 * 86_400.0
"""Older values say little of a driver and a cooling that have changed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """One result as it is kept; see `tables_checks`."""

    at: float
    host: str
    device: str
    check_name: str
    kind: str
    place: str
    value: float | None
    unit: str
    verdict: str
    reason: str
    expected: float | None
    low: float | None
    high: float | None
    compared_with: str | None
    incident: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedCheck(CheckRecord):
    """A result with its number, by which pages go on."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFilter:
    """Which results: None takes all; `since` in seconds since the epoch."""

    host: str | None = None
    check_name: str | None = None
    verdict: str | None = None
    incident: str | None = None
    since: float | None = None


def keep(db: Connection, records: Sequence[CheckRecord]) -> None:
    """Keep results, and of each check of each of their devices the newest alone."""
    if not records:
        return
    db.execute(insert(rows_of), [asdict(record) for record in records])
    for host, device, name in {(row.host, row.device, row.check_name) for row in records}:
        mine = and_(
            rows_of.c.host == host, rows_of.c.device == device, rows_of.c.check_name == name
        )
        newest = select(rows_of.c.number).where(mine).order_by(rows_of.c.number.desc())
        oldest = db.execute(newest.offset(KEPT - 1).limit(1)).scalar()
        if oldest is not None:
            db.execute(delete(rows_of).where(mine, rows_of.c.number < oldest))


def values(
    db: Connection, check: str, *, kind: str, place: str, but: str, now: float
) -> list[float]:
    """Return what hosts other than `but` measure of this kind in this place, one value each.

    A host with several devices, or several results, stands for the median of them: none counts more
    than another, however often it asks.
    """
    query = (
        select(rows_of.c.host, rows_of.c.value)
        .where(
            rows_of.c.check_name == check,
            rows_of.c.kind == kind,
            rows_of.c.place == place,
            rows_of.c.host != but,
            rows_of.c.value.is_not(None),
            rows_of.c.at >= now - RECENT_SECONDS,
        )
        .order_by(rows_of.c.number.desc())
        .limit(MOST_VALUES * KEPT)
    )
    by_host: dict[str, list[float]] = {}
    for host, value in db.execute(query):
        by_host.setdefault(host, []).append(value)
    return [statistics.median(held) for held in list(by_host.values())[:MOST_VALUES]]


def every(
    db: Connection, wanted: CheckFilter, *, limit: int, before: int | None = None
) -> list[NumberedCheck]:
    """Return results, the newest first; `before`: those with a smaller number."""
    same = conditions.equal(
        {
            rows_of.c.host: wanted.host,
            rows_of.c.check_name: wanted.check_name,
            rows_of.c.verdict: wanted.verdict,
            rows_of.c.incident: wanted.incident,
        }
    )
    query = select(rows_of).where(*same).order_by(rows_of.c.number.desc()).limit(limit)
    if wanted.since is not None:
        query = query.where(rows_of.c.at >= wanted.since)
    if before is not None:
        query = query.where(rows_of.c.number < before)
    return [_record(row) for row in db.execute(query)]


def newest(db: Connection, *, since: float, limit: int) -> list[NumberedCheck]:
    """Return the newest result of each check of each device, those that did not pass first."""
    last = (
        select(func.max(rows_of.c.number))
        .where(rows_of.c.at >= since)
        .group_by(rows_of.c.host, rows_of.c.device, rows_of.c.check_name)
    )
    bad = rows_of.c.verdict.in_(("slow", "failed"))
    query = (
        select(rows_of)
        .where(rows_of.c.number.in_(last))
        .order_by(bad.desc(), rows_of.c.number.desc())
        .limit(limit)
    )
    return [_record(row) for row in db.execute(query)]


def trim(db: Connection, *, before: float) -> int:
    """Delete results from before that time; return how many."""
    return db.execute(delete(rows_of).where(rows_of.c.at < before)).rowcount


def _record(row: Row[Any]) -> NumberedCheck:
    return NumberedCheck(**columns.by_name(row))
