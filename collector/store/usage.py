"""GPU time that jobs used, week by week: what a show-back report divides among users.

A row says from when to when an attempt ran in a week, and with how many ranks; writing the same
again changes nothing, so a restart counts no second twice.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlalchemy import Connection, and_, delete, insert, select, update

from .tables_history import usage

WEEK_SECONDS = 7 * 86_400
_FIRST_MONDAY = 4 * 86_400
"""The epoch began on a Thursday."""


@dataclass(frozen=True, slots=True)
class Usage:
    """One attempt of a job in one week; times in seconds since the epoch, `user` "" if unknown."""

    job: str
    attempt: int
    week: int
    user: str
    ranks: int
    first_at: float
    last_at: float

    @property
    def gpu_seconds(self) -> float:
        """Return the GPU seconds used: ranks times the time it ran."""
        return max(self.last_at - self.first_at, 0.0) * self.ranks


def week_of(at: float) -> int:
    """Return the Monday 00:00 UTC of the week of a time, in seconds since the epoch."""
    return int((at - _FIRST_MONDAY) // WEEK_SECONDS * WEEK_SECONDS + _FIRST_MONDAY)


def by_week(row: Usage) -> Iterator[Usage]:
    """Yield a time range cut at the borders of weeks."""
    week = week_of(row.first_at)
    while week <= row.last_at:
        begun, ended = max(row.first_at, week), min(row.last_at, week + WEEK_SECONDS)
        yield replace(row, week=week, first_at=begun, last_at=ended)
        week += WEEK_SECONDS


def keep(db: Connection, rows: Iterable[Usage]) -> None:
    """Write rows, each one week; a row that is there grows to hold both."""
    for row in rows:
        mine = and_(
            usage.c.job == row.job, usage.c.attempt == row.attempt, usage.c.week == row.week
        )
        held = db.execute(select(usage).where(mine)).one_or_none()
        if held is None:
            values = {"user_label": row.user, "ranks": row.ranks}
            times = {"first_at": row.first_at, "last_at": row.last_at}
            key = {"job": row.job, "attempt": row.attempt, "week": row.week}
            db.execute(insert(usage).values(**key, **values, **times))
            continue
        db.execute(
            update(usage)
            .where(mine)
            .values(
                user_label=row.user or held.user_label,
                ranks=max(row.ranks, held.ranks),
                first_at=min(row.first_at, held.first_at),
                last_at=max(row.last_at, held.last_at),
            )
        )


def every(db: Connection) -> list[Usage]:
    """Return every row, the oldest week first."""
    rows = db.execute(select(usage).order_by(usage.c.week, usage.c.job, usage.c.attempt))
    return [
        Usage(
            job=row.job,
            attempt=row.attempt,
            week=row.week,
            user=row.user_label,
            ranks=row.ranks,
            first_at=row.first_at,
            last_at=row.last_at,
        )
        for row in rows
    ]


def trim(db: Connection, *, before: float) -> int:
    """Delete weeks that ended before that; return how many rows."""
    return db.execute(delete(usage).where(usage.c.week < before - WEEK_SECONDS)).rowcount
