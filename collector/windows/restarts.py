"""Where a new attempt begins although nobody names attempts: processes that started anew.

A launcher that keeps job id and attempt (Kubernetes names none) restarts the processes: they report
another start time, or, where nobody reports one, another pid and steps that begin again.
"""

import numpy as np

from ...formats.otlp.columns import SeriesTable
from ...vocabulary.ids import Job
from ...vocabulary.samples import CLAIMED
from .attempt import JobAttempt
from .attempts import SAME_START_SECONDS, AttemptRegister
from .attributes import rank_of, whole
from .placing import INFO, SeriesPlacer


def possible(attempts: AttemptRegister, number: int) -> bool:
    """Tell whether processes of an attempt (-1: of none) were replaced, and it may begin anew."""
    attempt = attempts.numbered[number] if number >= 0 else None
    return attempt is not None and bool(attempt.new_pids)


def by_start_time(attempts: AttemptRegister, placing: SeriesPlacer, table: SeriesTable) -> None:
    """Begin attempts for the processes that new series of a table name."""
    new = np.arange(placing.count, len(table))
    new = new[table.metric_of[new] == table.metric(INFO)]
    if not len(new):
        return
    placing.attributes.update()
    for series in new[placing.attributes.started[table.attributes_of[new]] >= 0].tolist():
        one = table[series]
        if one.resource.job is None or one.resource.attempt is not None:
            continue
        attempt = attempts.newest(Job(one.resource.job))
        pairs = dict(one.attributes)
        rank, started = rank_of(pairs), whole(pairs.get("process.start_time"))
        if attempt is None or not attempt.derived or rank is None or started is None:
            continue
        if attempt.checked and CLAIMED.items() <= pairs.items():
            continue
        row = attempt.placements.row(rank)
        before = -1 if row is None else int(attempt.placements.started[row])
        # Other ranks that start later in the same restart are new to the attempt by then.
        if 0 <= before < started - SAME_START_SECONDS:
            begin(attempts, placing, table, attempt, float(started))


def by_steps(
    attempts: AttemptRegister, placing: SeriesPlacer, table: SeriesTable, attempt: JobAttempt
) -> None:
    """Begin an attempt where the steps of a rank with a new process began again."""
    for row, since in list(attempt.new_pids.items()):
        if attempt.grid.began_again[row] > since:
            begin(attempts, placing, table, attempt, since)
            return


def begin(
    attempts: AttemptRegister,
    placing: SeriesPlacer,
    table: SeriesTable,
    attempt: JobAttempt,
    at: float,
) -> None:
    """Let the attempt after a derived one begin; its job's unnamed series go to it from now on."""
    following = attempts.next(attempt)
    following.started_at = at
    following.last_received = attempt.last_received
    following.reports = attempt.reports
    attempt.new_pids.clear()
    named = np.array([resource.attempt is not None for resource in table.resources], np.bool_)
    mine = np.flatnonzero(placing.attempt[: placing.count] == attempt.number_in_windows)
    placing.reopen(mine[~named[table.resource_of[mine]]])
