"""GPU time that jobs used, week by week: what a show-back report divides among users.

A row says from when to when an attempt ran in a week, and with how many ranks; writing the same
again changes nothing, so a restart counts no second twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, and_, delete, insert, select, update

from ...vocabulary.times import WEEK_SECONDS, week_of
from .tables_history import usage

RESTART_SECONDS = 300.0
"""A job that reports again within this time held its GPUs meanwhile: it was being restarted."""


@dataclass(frozen=True, slots=True)
class AttemptUsage:
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


def by_week(row: AttemptUsage) -> Iterator[AttemptUsage]:
    """Yield a time range cut at the borders of weeks."""
    week = week_of(row.first_at)
    while week <= row.last_at:
        begun, ended = max(row.first_at, week), min(row.last_at, week + WEEK_SECONDS)
        yield replace(row, week=week, first_at=begun, last_at=ended)
        week += WEEK_SECONDS


def through_restarts(rows: Iterable[AttemptUsage]) -> list[AttemptUsage]:
    """Return rows in which an attempt holds the GPUs of its job until the next one begins.

    Where that is soon enough; and no longer, so that no time of a job counts twice.
    """
    by_job: dict[str, dict[int, list[AttemptUsage]]] = {}
    for row in rows:
        by_job.setdefault(row.job, {}).setdefault(row.attempt, []).append(row)
    found: list[AttemptUsage] = []
    for attempts in by_job.values():
        begun = {number: min(row.first_at for row in each) for number, each in attempts.items()}
        order = sorted(attempts, key=lambda number: (begun[number], number))
        for number, after in zip(order, [*order[1:], None], strict=True):
            each = sorted(attempts[number], key=lambda row: row.first_at)
            if after is not None:
                each = _up_to(each, begun[after])
            found += each
    return found


def _up_to(rows: Sequence[AttemptUsage], next_at: float) -> list[AttemptUsage]:
    """Return the rows of one attempt, the oldest first, as the next one begins then."""
    kept = [replace(row, last_at=min(row.last_at, next_at)) for row in rows]
    kept = [row for row in kept if row.first_at <= row.last_at]
    if kept and next_at - kept[-1].last_at <= RESTART_SECONDS:
        kept[-1:] = by_week(replace(kept[-1], last_at=next_at))
    return kept


def keep(db: Connection, rows: Iterable[AttemptUsage]) -> None:
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


def every(db: Connection) -> list[AttemptUsage]:
    """Return every row, the oldest week first."""
    rows = db.execute(select(usage).order_by(usage.c.week, usage.c.job, usage.c.attempt))
    return [
        AttemptUsage(
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
