"""What people and programs ask of the windows: jobs, ranks, series, topology.

Functions over what detectors see too (`Windows.current`, `Windows.window`): they change nothing,
and their answers hold nothing that the pipeline goes on changing.
"""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...detectors.window import Floats, JobWindow, StepValues
from ...vocabulary import metrics
from ...vocabulary.ids import Job
from ...vocabulary.topology import JobTopology
from .attempt import JobAttempt
from .matrices import matrices, newest_window, variants
from .steps import REPORTED_NAN
from .windows import TelemetryWindows

RECENT_STEPS = 20

_PLACEMENT = frozenset(
    {
        "rank", "local_rank", "world_size", "pid", "container.pid", "hw.id", "gpu", "framework",
        "dp", "tp", "pp", "ep", "group", "source", "quality", "hw.vendor", "cgroup",
    }
)  # fmt: skip
"""Attributes that say where a series comes from; the others tell apart those of one place."""


@dataclass(frozen=True, slots=True)
class JobSummary:
    """One job, its newest attempt. `step_seconds` is the recent median, None before two steps.

    first_at, last_at: event times of its samples; last_received: by the collector's clock;
    lost_until: the end of the newest time that counts as lost, None where none does.
    """

    job: Job
    attempt: int
    cluster: str | None
    first_at: float
    last_at: float
    last_received: float
    world_size: int
    hosts: tuple[str, ...]
    ranks: int
    last_step: int | None
    step_seconds: float | None
    user: str | None = None
    lost_until: float | None = None


@dataclass(frozen=True, slots=True)
class RankSummary:
    """One rank of a job's newest attempt."""

    rank: int
    local_rank: int | None
    host: str | None
    pid: int | None
    hw_id: str | None
    last_step: int | None
    progress_age: float | None
    attempt: int


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """One series: `rank` is None for a host's. at, value: [points], oldest first.

    `attributes` distinguish it from the other series of its metric on the same rank or host; a
    host's series carries `host.name`.
    """

    rank: int | None
    at: Floats
    value: Floats
    attributes: Mapping[str, str] = field(default_factory=dict)


def jobs(windows: TelemetryWindows) -> list[JobSummary]:
    """Return every job that is remembered, by id."""
    return [summary(attempt, windows.topology(attempt).hosts) for attempt in windows.current()]


def summary(attempt: JobAttempt, hosts: tuple[str, ...]) -> JobSummary:
    """Return what is known of one attempt, whose ranks run on `hosts`, as a whole."""
    steps = attempt.grid.view()
    return JobSummary(
        job=attempt.job,
        attempt=attempt.number,
        cluster=attempt.cluster,
        first_at=attempt.first_at,
        last_at=attempt.last_at,
        last_received=attempt.last_received,
        world_size=max(attempt.world_size, len(attempt.placements)),
        hosts=hosts,
        ranks=len(attempt.placements),
        last_step=int(steps.index[-1]) if len(steps.index) else None,
        step_seconds=_step_seconds(steps.last(RECENT_STEPS + 1)) if len(steps.index) > 1 else None,
        user=attempt.user,
    )


def _step_seconds(steps: StepValues) -> float:
    """Return the median time of a step: as reported, else between the ends of two.

    Reported steps may be one in ten, and those of a log may be written out many at once.
    """
    reported = steps.planes.get("training.step.duration")
    if reported is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # steps of which nobody reports one
            taken = np.nanmax(np.where(reported > 0, reported, np.nan)[:, 1:], axis=0)
        if np.isfinite(taken).any():
            return float(np.median(taken[np.isfinite(taken)]))
    return float(np.median(np.diff(np.nanmax(steps.at, axis=0))))


def names(windows: TelemetryWindows) -> set[str]:
    """Return the ids of every job that is remembered."""
    return {attempt.job for attempt in windows.current()}


def hosts(windows: TelemetryWindows) -> list[str]:
    """Return every host that ever reported, sorted."""
    return sorted(host for host in windows.host_names if host)


def ranks(windows: TelemetryWindows, job: str) -> list[RankSummary]:
    """Return the ranks of a job's newest attempt, by number; empty for an unknown job."""
    window = newest_window(windows, job)
    if window is None:
        return []
    local_ranks = window.topology.local_ranks
    age, _ = window.of_ranks("training.progress.age").latest()
    last = _last_steps(window)
    found = []
    for row in np.argsort(window.ranks).tolist():
        rank = int(window.ranks[row])
        pid = int(window.pids[row])
        host = int(window.host_of[row])
        found.append(
            RankSummary(
                rank=rank,
                local_rank=local_ranks[row] if local_ranks[row] >= 0 else None,
                host=window.hosts[host] if host >= 0 else None,
                pid=pid if pid >= 0 else None,
                hw_id=window.hw_ids[row],
                last_step=last[row],
                progress_age=float(age[row]) if np.isfinite(age[row]) else None,
                attempt=window.attempt,
            )
        )
    return found


def series(
    windows: TelemetryWindows,
    job: str,
    metric: str,
    ranks: Collection[int] | None,
    start: float,
    end: float,
) -> list[SeriesRow]:
    """Return the series of a metric with points in [start, end], by rank, hosts last.

    A metric without a variant asks for all of them, each a series of its own; a name may carry one
    (`training.loss|local`, `hw.frequency|sm`).
    """
    window = newest_window(windows, job)
    found: list[SeriesRow] = []
    for one in () if window is None else matrices(window, metric):
        if one.of_hosts and found:
            break
        for row, name in enumerate(one.names):
            pairs = variant(one.name)
            if isinstance(name, str):
                rank, pairs = None, {"host.name": name, **pairs}
            elif ranks is None or name in ranks:
                rank = name
            else:
                continue
            cut = _cut(rank, one.at[row], one.value[row], start, end, pairs)
            found += [_with_nan(part) for part in cut] if one.per_step else cut
    attempt = windows.attempt(job)
    if attempt is not None:
        found += _of_groups(attempt, metric, ranks, start, end)
    return sorted(found, key=_order)


def _of_groups(
    attempt: JobAttempt, metric: str, ranks: Collection[int] | None, start: float, end: float
) -> list[SeriesRow]:
    """Return the series that ranks report of the communication groups they are members of."""
    members, found = attempt.members, list[SeriesRow]()
    for name in variants(members.planes.numbers, metric):
        plane = members.planes.planes[members.planes.numbers[name]]
        plane.fit(members.planes.rows)
        for group, pairs in sorted(members.of_group.items()):
            wanted = [(rank, row) for rank, row in pairs if ranks is None or rank in ranks]
            at, value = plane.read(np.array([row for _, row in wanted], np.int64), start, end)
            labels = {"group": group, **variant(name)}
            for place, (rank, _) in enumerate(wanted):
                found += _cut(rank, at[place], value[place], start, end, labels)
    return found


def variant(name: str) -> dict[str, str]:
    """Return the attributes behind a variant's name: `hw.frequency|sm` -> {"domain": "sm"}.

    Names list the values in the order of their attributes' names. Values that the catalogue does
    not explain come under "variant", joined.
    """
    metric, *values = name.split("|")
    if not values:
        return {}
    known = metrics.catalogue().get(metric)
    keys = sorted({*known.attributes, *known.optional} - _PLACEMENT) if known else []
    found = _assigned(keys, values, known.values if known else {})
    return {"variant": "|".join(values)} if found is None else found


def topology(windows: TelemetryWindows, job: str) -> JobTopology | None:
    """Return the topology of a job's newest attempt, None for an unknown job."""
    attempt = windows.attempt(job)
    return None if attempt is None else windows.topology(attempt)


def _last_steps(window: JobWindow) -> list[int | None]:
    """Return [ranks] the index of the newest step that each has ended, None before the first."""
    steps = window.steps
    if not len(steps.index):
        return [None] * len(window.ranks)
    ended = np.isfinite(steps.at)
    newest = steps.index[len(steps.index) - 1 - np.argmax(ended[:, ::-1], axis=1)].tolist()
    return [
        last if some else None
        for last, some in zip(newest, np.any(ended, axis=1).tolist(), strict=True)
    ]


def _cut(
    rank: int | None, at: Floats, value: Floats, start: float, end: float, pairs: dict[str, str]
) -> list[SeriesRow]:
    """Return the series with its points in [start, end]; nothing where it has none."""
    inside = (at >= start) & (at <= end) & ~np.isnan(value)  # NaN: nobody reported
    if not inside.any():
        return []
    order = np.argsort(at[inside], kind="stable")
    values = np.array([_shortest(one) for one in value[inside][order].tolist()])
    return [SeriesRow(rank, at[inside][order], values, pairs)]


def _with_nan(row: SeriesRow) -> SeriesRow:
    """Return a series from a plane with NaN in the place of what stands for it there."""
    values = np.where(row.value == REPORTED_NAN, np.nan, row.value)
    return SeriesRow(row.rank, row.at, values, row.attributes)


def _shortest(value: float) -> float:
    """Return a value that was kept as a float32 as it was sent: 2.4, not 2.4000000953674316."""
    single = np.float32(value)
    return float(str(single)) if float(single) == value else value


def _order(row: SeriesRow) -> tuple[bool, int, list[tuple[str, str]]]:
    return row.rank is None, row.rank or 0, sorted(row.attributes.items())


def _assigned(
    keys: list[str], values: list[str], closed: Mapping[str, tuple[str, ...]]
) -> dict[str, str] | None:
    """Return values under keys in their order, some keys left out; None where nothing fits."""
    if not values:
        return {}
    for position, key in enumerate(keys):
        if key not in closed or values[0] in closed[key]:
            rest = _assigned(keys[position + 1 :], values[1:], closed)
            if rest is not None:
                return {key: values[0], **rest}
    return None
