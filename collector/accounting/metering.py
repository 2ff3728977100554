"""GPU time that jobs hold: what the windows say of each attempt, kept in the store week by week.

A job holds its GPUs from its first report to its last, through restarts that are soon enough, and
as long as it counts as standing still. So nothing can be lost that it did not hold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Protocol

from ..settings.collector import UserSettings
from ..store.usage import AttemptUsage, by_week, through_restarts
from ..windows.queries import JobSummary

_MOST_JOBS = 10_000
"""Jobs whose earlier attempts are kept in memory."""
_NONE: tuple[int | None, list[AttemptUsage]] = (None, [])


class UsageStore(Protocol):
    """What is needed of the store."""

    def use(self, rows: Sequence[AttemptUsage]) -> None:
        """Keep from when to when jobs ran."""
        ...

    def usage(self) -> list[AttemptUsage]:
        """Return from when to when jobs ran, week by week."""
        ...


class SummarySource(Protocol):
    """What is needed of whoever sums jobs up."""

    def jobs(self) -> list[JobSummary]:
        """Return every job that is remembered."""
        ...


class UsageMeter:
    """Who uses what. Safe to ask from any thread."""

    def __init__(
        self, watched: SummarySource, store: UsageStore, users: Sequence[UserSettings]
    ) -> None:
        self._watched = watched
        self._store = store
        self._users = tuple(users)
        self._kept: dict[tuple[str, int, int], AttemptUsage] = {}
        self._before: dict[str, tuple[int, list[AttemptUsage]]] = {}
        """By job: the newest attempt when the store was read last, and what it had of the job."""

    def user_of(self, job: str, label: str | None = None) -> str:
        """Return the user label of a job: its telemetry's, else the settings', else ""."""
        if label:
            return label
        return next((row.user for row in self._users if fnmatchcase(job, row.jobs)), "")

    def keep(self) -> None:
        """Write what changed since the last time into the store."""
        live = {_key(row): row for row in self._live()}
        changed = [row for key, row in live.items() if self._kept.get(key) != row]
        if changed:
            self._store.use(changed)
        self._kept = live

    def usage(self) -> list[AttemptUsage]:
        """Return what was used by now, the oldest week first."""
        found = {_key(row): row for row in self._store.usage()}
        for row in self._live():
            held = found.get(_key(row))
            found[_key(row)] = row if held is None else _joined(held, row)
        rows = (
            replace(row, user=self.user_of(row.job, row.user))
            for row in through_restarts(found.values())
        )
        return sorted(rows, key=lambda row: (row.week, row.job, row.attempt))

    def held(self, jobs: Sequence[JobSummary]) -> dict[str, float]:
        """Return the GPU seconds that jobs held by now, in all their attempts.

        Only the newest attempt changes: the store is read where a job or attempt is new.
        """
        known = self._before
        if any(known.get(row.job, _NONE)[0] != row.attempt for row in jobs):
            by_job: dict[str, list[AttemptUsage]] = {}
            for kept in self._store.usage():
                by_job.setdefault(kept.job, []).append(kept)
            rows: dict[str, tuple[int, list[AttemptUsage]]] = {
                row.job: (row.attempt, by_job.get(row.job, [])) for row in jobs
            }
            known = self._before = {**(known if len(known) <= _MOST_JOBS else {}), **rows}
        return {row.job: _seconds(known[row.job][1], row) for row in jobs}

    def _live(self) -> list[AttemptUsage]:
        return [part for row in self._watched.jobs() for part in _parts(row)]


def _parts(row: JobSummary) -> Iterable[AttemptUsage]:
    if not row.first_at <= row.last_at < float("inf"):
        return ()
    return by_week(
        AttemptUsage(
            job=row.job,
            attempt=row.attempt,
            week=0,
            user=row.user or "",
            ranks=row.world_size,
            first_at=row.first_at,
            last_at=max(row.last_at, row.lost_until or row.last_at),
        )
    )


def _seconds(before: Iterable[AttemptUsage], job: JobSummary) -> float:
    rows = {_key(row): row for row in before}
    for row in _parts(job):
        held = rows.get(_key(row))
        rows[_key(row)] = row if held is None else _joined(held, row)
    return sum(row.gpu_seconds for row in through_restarts(rows.values()))


def _key(row: AttemptUsage) -> tuple[str, int, int]:
    return row.job, row.attempt, row.week


def _joined(held: AttemptUsage, row: AttemptUsage) -> AttemptUsage:
    return replace(
        row,
        user=row.user or held.user,
        ranks=max(row.ranks, held.ranks),
        first_at=min(row.first_at, held.first_at),
        last_at=max(row.last_at, held.last_at),
    )
