"""The communication groups of an attempt, whoever reports them: one module for every source.

Counters of one group under one name come from one source a member (the first in order). Sources
that number collectives differently name the group differently: torch by its members and their
description, NCCL (RAS, Inspector, its log) by its own hash. Both are joined here by their members.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...detectors.window import GroupProgress, Ints
from ...vocabulary.ranks import RankSet
from .attempt import JobAttempt, ReportingMembers
from .planes import MetricPlane

LAUNCHES = "collective.launches|"
SAME_TIME_SECONDS = 15.0
"""A source that reported so lately still reports."""


def groups(attempt: JobAttempt) -> Sequence[GroupProgress]:
    """Return the groups of an attempt as their members last reported, each communicator once.

    Those of last time where nobody reported since.
    """
    members = attempt.members
    planes = members.planes
    counters = [
        planes.planes[number] if number is not None else None
        for name in ("enqueued", "completed")
        for number in (planes.numbers.get(f"collective.{name}"),)
    ]
    # A kind of collective that few have launched ends at the newest of their rows.
    kinds = {
        name.partition("|")[2]: planes.planes[number]
        for name, number in planes.numbers.items()
        if name.startswith(LAUNCHES)
    }
    read = [plane for plane in (*counters, *kinds.values()) if plane is not None]
    if not read:
        return ()
    for counted in read:
        counted.fit(planes.rows)
    versions = (plane.version for plane in read)
    state = (attempt.version, planes.version, attempt.placements.version, *versions)
    if members.progress is None or members.progress[0] != state:
        every = _reported(attempt, counters, kinds)
        members.progress = (state, tuple(_without_doubles(attempt, every)))
    return members.progress[1]


def _reported(
    attempt: JobAttempt,
    counters: Sequence[MetricPlane | None],
    kinds: Mapping[str, MetricPlane],
) -> list[GroupProgress]:
    """Return every group that is reported, also where several sources report the same one."""
    read = [plane for plane in (*counters, *kinds.values()) if plane is not None]
    found = []
    for group in _members(attempt, read):
        rows = group.rows
        values, newest, changed = [], np.full(len(rows), -np.inf), np.full(len(rows), -np.inf)
        for plane in counters:
            if plane is None or plane.changed_at is None:
                values.append(np.full(len(rows), np.nan))
                continue
            values.append(plane.last_value[rows])
            newest = np.maximum(newest, plane.last_at[rows])
            changed = np.maximum(changed, plane.changed_at[rows])
        for plane in () if any(counters) else kinds.values():
            newest = np.maximum(newest, plane.last_at[rows])
            if plane.changed_at is not None:
                changed = np.maximum(changed, plane.changed_at[rows])
        found.append(
            GroupProgress(
                name=group.name,
                kind=group.kind,
                rows=group.placed,
                enqueued=values[0],
                completed=values[1],
                at=newest,
                changed_at=changed,
                launches={kind: counts.last_value[rows] for kind, counts in kinds.items()},
                absent=group.absent,
            )
        )
    return found


def _members(attempt: JobAttempt, read: Sequence[MetricPlane]) -> Sequence[ReportingMembers]:
    """Return who reports of each group, by its name; those of last time where nobody joined."""
    members, placements = attempt.members, attempt.placements
    heard = (int(np.count_nonzero(plane.last_at > -np.inf)) for plane in read)
    state = (attempt.version, members.planes.version, placements.version, *heard)
    if members.reporting is None or members.reporting[0] != state:
        found: list[ReportingMembers] = []
        for name in sorted(members.of_group):
            held = members.in_order(name)
            claimed = np.zeros(len(held), np.bool_)
            for plane in read:
                claimed |= plane.last_at[held[:, 1]] > -np.inf
            rows, ranks = held[claimed, 1], held[claimed, 0]
            if len(rows):
                placed, absent = placements.rows(ranks), _absent(attempt, name, ranks)
                kind = attempt.groups[name].kind
                found.append(ReportingMembers(name, kind, rows, placed, absent))
        members.reporting = (state, tuple(found))
    return members.reporting[1]


def members_of(attempt: JobAttempt, group: str) -> RankSet:
    """Return the ranks of a group: as it was described, else those that report it."""
    return attempt.groups[group].ranks or attempt.members.ranks(group)


def _without_doubles(attempt: JobAttempt, every: list[GroupProgress]) -> list[GroupProgress]:
    """Leave out communicators whose launches are counted where torch reports the same group.

    NCCL numbers a group's collectives by another count than torch, and says nothing of their ends:
    ranks that wait for one device launched unequally many, and none of them is behind.
    """
    better: dict[RankSet, float] = {}
    for group in every:
        if np.isfinite(group.completed).any():
            ranks = members_of(attempt, group.name)
            better[ranks] = max(better.get(ranks, -np.inf), float(group.at.max()))
    return [
        group
        for group in every
        if np.isfinite(group.completed).any()
        or better.get(members_of(attempt, group.name), -np.inf)
        < float(group.at.max()) - SAME_TIME_SECONDS
    ]


def _absent(attempt: JobAttempt, group: str, reported: Ints) -> Ints:
    """Return the rows of the group's members that are placed and never reported a number."""
    members = attempt.groups[group].ranks
    if len(reported) >= len(members):
        return np.zeros(0, np.int64)
    lacking = np.setdiff1d(np.fromiter(members, np.int64, len(members)), reported)
    rows = attempt.placements.known_rows(lacking)
    return rows[rows >= 0]
