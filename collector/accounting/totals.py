"""Incidents and GPU time added up: by week, user, job and fault, in any combination.

An incident counts in the week of its onset and for its first job. GPU time counts where it was
used, and lost time for the job and in the week that lost it; incidents that overlap have divided it
among themselves.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

from ...vocabulary.counterfactuals import GpuHours, sum_of
from ...vocabulary.times import week_name
from ..store.costs import IncidentCosts
from ..store.usage import AttemptUsage
from .goodput import share

Key = Literal["week", "user", "job", "fault"]
KEYS: tuple[Key, ...] = ("week", "user", "job", "fault")
NOBODY = ""
"""The user of a job without a label, and the job of an incident without one."""


@dataclass(frozen=True, slots=True)
class AccountingQuery:
    """What is added up: None takes all. `since` up to `until`, in seconds since the epoch.

    `job` and `user` are patterns (* ? [..]).
    """

    since: float | None = None
    until: float | None = None
    job: str | None = None
    user: str | None = None
    fault: str | None = None

    def incident(self, row: IncidentCosts, user: str) -> bool:
        return (
            (self.since is None or row.opened_at >= self.since)
            and (self.until is None or row.opened_at < self.until)
            and (self.fault is None or row.fault == self.fault)
            and any(self.of(job, user) for job in row.jobs or (NOBODY,))
        )

    def of(self, job: str, user: str) -> bool:
        """Return whether what a job used and lost counts."""
        return (self.job is None or fnmatchcase(job, self.job)) and (
            self.user is None or fnmatchcase(user, self.user)
        )

    def used(self, row: AttemptUsage) -> AttemptUsage | None:
        """Return the part of what was used that counts, None where nothing of it does."""
        if not self.of(row.job, row.user):
            return None
        first_at = row.first_at if self.since is None else max(row.first_at, self.since)
        last_at = row.last_at if self.until is None else min(row.last_at, self.until)
        return replace(row, first_at=first_at, last_at=last_at) if first_at <= last_at else None


@dataclass(slots=True)
class AccountingTotal:
    """What one group adds up to; `used` is None where nothing was metered, and by fault."""

    used: float | None = None
    lost: float = 0.0
    incidents: list[IncidentCosts] = field(default_factory=list)
    by_fault: dict[str, float] = field(default_factory=dict)
    measured: list[GpuHours] = field(default_factory=list)
    """Of each incident, what its cause took by steps as they would be without it."""

    @property
    def goodput(self) -> float | None:
        """Return the share of GPU time used that incidents left, None where none was used."""
        return share(self.lost, self.used) if self.used else None

    def lose(self, fault: str, gpu_seconds: float) -> None:
        """Count what an incident took."""
        self.lost += gpu_seconds
        self.by_fault[fault] = self.by_fault.get(fault, 0.0) + gpu_seconds

    @property
    def gained(self) -> GpuHours | None:
        """Return what would not have been lost without the causes; None: none was measured."""
        return sum_of(self.measured) if self.measured else None

    @property
    def costliest(self) -> str | None:
        """Return the fault that took most, None without any loss."""
        if not self.by_fault:
            return None
        return min(self.by_fault, key=lambda fault: (-self.by_fault[fault], fault))

    @property
    def mttd(self) -> float | None:
        """Return the mean time from onset to first report (s)."""
        return mean(row.detected_at - row.opened_at for row in self.incidents)

    @property
    def mtta(self) -> float | None:
        """Return the mean time from first report to acknowledgement (s)."""
        return mean(
            row.acknowledged_at - row.detected_at
            for row in self.incidents
            if row.acknowledged_at is not None
        )

    @property
    def mttr(self) -> float | None:
        """Return the mean time from onset to resolution (s)."""
        return mean(
            row.resolved_at - row.opened_at for row in self.incidents if row.resolved_at is not None
        )


def added_up(
    keys: Sequence[Key],
    incidents: Iterable[IncidentCosts],
    used: Iterable[AttemptUsage],
    *,
    wanted: AccountingQuery,
    user_of: Callable[[str], str],
) -> dict[tuple[str, ...], AccountingTotal]:
    """Return the totals by the values of `keys`, in their order.

    `user_of` gives the user of a job of which nothing was metered.
    """
    totals: dict[tuple[str, ...], AccountingTotal] = {}
    faults = "fault" in keys
    users: dict[str, str] = {}

    def of(at: float, user: str, job: str, fault: str) -> AccountingTotal:
        values = {"week": week_name(at), "user": user, "job": job, "fault": fault}
        return totals.setdefault(tuple(values[key] for key in keys), AccountingTotal())

    for row in used:
        users[row.job] = row.user or users.get(row.job, NOBODY)
        counted = None if faults else wanted.used(row)
        if counted is None:
            continue
        total = of(row.week, row.user, row.job, "")
        total.used = (total.used or 0.0) + counted.gpu_seconds
    for incident in incidents:
        job = incident.job or NOBODY
        user = users[job] if job in users else user_of(job)
        if not wanted.incident(incident, user):
            continue
        of(incident.opened_at, user, job, incident.fault).incidents.append(incident)
        for part in incident.taken:
            job = part.job or NOBODY
            user = users[job] if job in users else user_of(job)
            if wanted.of(job, user):
                total = of(part.week, user, job, incident.fault)
                total.lose(incident.fault, part.gpu_seconds)
                if (hours := incident.measured_of(part)) is not None:
                    total.measured.append(hours)
    return dict(sorted(totals.items()))


def mean(values: Iterable[float]) -> float | None:
    """Return the mean, None of nothing."""
    found = list(values)
    return sum(found) / len(found) if found else None
