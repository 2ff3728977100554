"""The collectives of a job by group and rank: how far each is, how long they take, who comes late.

Whoever reports them: several sources of one group are one group here, joined by its members, and
each number carries the source that it is from. The last to come to a synchronising collective has
the shortest duration of all, so lateness needs no clock: the longest duration minus one's own.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...vocabulary.groups import COMMUNICATOR
from ...vocabulary.ranks import RankSet
from ..windows import collectives
from ..windows.attempt import JobAttempt
from ..windows.attributes import SOURCES
from ..windows.communicators import LoggedRank
from ..windows.operations import synchronises
from ..windows.planes import MetricPlane

_TOGETHER_SECONDS = 30.0
"""Reports so close to the newest one are of the same time."""

_COUNTERS = ("enqueued", "started", "completed")
_FIGURES = ("count", "duration", "duration.max", "size", "bus_bandwidth")


@dataclass(slots=True)
class OperationFigures:
    """One kind of collective on one rank in its last reporting interval.

    Seconds, bytes, bytes a second; None where not reported. lateness: seconds that others waited
    for this rank in the median operation, None where the kind does not synchronise.
    """

    op: str
    source: str | None
    at: float
    count: float | None = None
    duration: float | None = None
    duration_max: float | None = None
    size: float | None = None
    bus_bandwidth: float | None = None
    lateness: float | None = None


@dataclass(slots=True)
class GroupMemberFigures:
    """One rank in one group; counters None where nobody reports them, times in seconds.

    logged: its process and device as NCCL's log names them, None where it logged nothing.
    """

    group: str
    kind: str
    description: str
    size: int
    also: tuple[str, ...]
    rank: int
    host: str | None
    source: str | None = None
    enqueued: float | None = None
    started: float | None = None
    completed: float | None = None
    at: float | None = None
    changed_at: float | None = None
    logged: LoggedRank | None = None
    operations: list[OperationFigures] = field(default_factory=list)


def members(
    attempt: JobAttempt,
    host_names: list[str],
    *,
    ranks: Collection[int] | None = None,
    group: str | None = None,
) -> list[GroupMemberFigures]:
    """Return the ranks of an attempt in its groups, by group and rank; of some, where asked."""
    found: list[GroupMemberFigures] = []
    late = attempt.operations.lateness()
    for name, also in _joined(attempt):
        if group is not None and group not in (name, *also):
            continue
        rows = {one: dict(attempt.members.of_group.get(one, ())) for one in (name, *also)}
        logged = {
            rank: one
            for each in (*also, name)
            for rank, one in attempt.communicators.members(each).items()
        }
        info = attempt.groups[name]
        all_ranks = collectives.members_of(attempt, name)
        mine: dict[int, GroupMemberFigures] = {}
        for rank in sorted(logged.keys() | {rank for held in rows.values() for rank in held}):
            mine[rank] = GroupMemberFigures(
                name, info.kind, info.description, len(all_ranks), also, rank,
                _host(attempt, host_names, rank), logged=logged.get(rank),
            )  # fmt: skip
        for one in (name, *also):  # torch's own counters first
            _count(attempt, rows[one], mine)
            _operate(attempt, rows[one], mine)
        _late(mine.values())
        for member in mine.values():
            for held in member.operations:
                exact = (late.get((one, held.op, member.rank)) for one in (name, *also))
                held.lateness = next((one for one in exact if one is not None), held.lateness)
        found += [one for rank, one in mine.items() if ranks is None or rank in ranks]
    return found


def _joined(attempt: JobAttempt) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (group, other names of it): NCCL's communicator of the same ranks as torch's one.

    Where torch has several groups of the same ranks nobody can tell whose communicator it is.
    """
    by_ranks: dict[RankSet, list[str]] = {}
    for name in sorted(attempt.groups):
        by_ranks.setdefault(collectives.members_of(attempt, name), []).append(name)
    for names in by_ranks.values():
        of_nccl = [
            name for name in names if attempt.groups[name].description.startswith(COMMUNICATOR)
        ]
        others = [name for name in names if name not in of_nccl]
        if len(others) == 1:
            yield others[0], tuple(of_nccl)
        else:
            for name in names:
                yield name, ()


def _host(attempt: JobAttempt, names: list[str], rank: int) -> str | None:
    row = attempt.placements.row(rank)
    number = -1 if row is None else int(attempt.placements.hosts[row])
    return names[number] if number >= 0 else None


def _count(
    attempt: JobAttempt, rows: Mapping[int, int], mine: Mapping[int, GroupMemberFigures]
) -> None:
    """Fill in counters; those of one rank from one name of the group alone."""
    planes = attempt.members.planes
    counted = {rank for rank, one in mine.items() if one.at is None}
    for name in _COUNTERS:
        number = planes.numbers.get(f"collective.{name}")
        if number is None:
            continue
        plane = planes.planes[number]
        for rank, row in rows.items():
            if rank not in counted or not _reported(plane, row):
                continue
            one = mine[rank]
            setattr(one, name, float(plane.last_value[row]))
            one.source = _source(plane, row)
            one.at = max(one.at or 0.0, float(plane.last_at[row]))
            if plane.changed_at is not None and np.isfinite(plane.changed_at[row]):
                one.changed_at = max(one.changed_at or 0.0, float(plane.changed_at[row]))


def _operate(
    attempt: JobAttempt, rows: Mapping[int, int], mine: Mapping[int, GroupMemberFigures]
) -> None:
    planes = attempt.members.planes
    for name, number in sorted(planes.numbers.items()):
        metric, _, op = name.partition("|")
        figure = metric.removeprefix("collective.")
        if figure not in _FIGURES or not op:
            continue
        plane = planes.planes[number]
        for rank, row in rows.items():
            if not _reported(plane, row):
                continue
            held = next((one for one in mine[rank].operations if one.op == op), None)
            if held is None:
                held = OperationFigures(op, _source(plane, row), float(plane.last_at[row]))
                mine[rank].operations.append(held)
            held.at = max(held.at, float(plane.last_at[row]))
            setattr(held, figure.replace(".", "_"), float(plane.last_value[row]))


def _late(mine: Collection[GroupMemberFigures]) -> None:
    """Derive lateness, of what was reported at the same time."""
    of_kind: dict[str, list[OperationFigures]] = {}
    for member in mine:
        for one in member.operations:
            if one.duration is not None and synchronises(one.op):
                of_kind.setdefault(one.op, []).append(one)
    for held in of_kind.values():
        newest = max(one.at for one in held)
        together = [one for one in held if newest - one.at <= _TOGETHER_SECONDS]
        if len(together) < 2:
            continue
        longest = max(one.duration or 0.0 for one in together)
        for one in together:
            one.lateness = longest - (one.duration or 0.0)


def _reported(plane: MetricPlane, row: int) -> bool:
    return row < len(plane.last_at) and bool(np.isfinite(plane.last_at[row]))


def _source(plane: MetricPlane, row: int) -> str | None:
    number = int(plane.source[row])
    return SOURCES[number] if 0 <= number < len(SOURCES) else None
