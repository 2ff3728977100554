"""Incidents that are over for their jobs: kept within a bound, and what still matters of them.

They answer three questions about a symptom: is it the tail of something that is over, did a person
resolve it while it lasts, or has the same root returned.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..vocabulary.findings import Finding
from ..vocabulary.handling import IncidentHandling
from ..vocabulary.ids import IncidentId, Job
from ..vocabulary.incidents import TimelineMoment
from ..vocabulary.times import parse
from . import handled
from .lifecycle import TrackedIncident

KEPT_CLOSED = 2_000
"""Resolved incidents kept in memory; the store keeps all of them."""

KEPT_OF_A_JOB = 16
"""Resolved incidents of one job that a symptom is compared with."""

REOPEN_SECONDS = 900.0
"""The same root at the same scope that returns within this time reopens its incident."""

SLOW_AGAIN_SECONDS = 14_400.0
"""The same of slowness without a named cause: a job that is slow now and then is one thing."""

TAIL_SECONDS = 60.0
"""For so long after its end an incident's own symptoms, still in the windows, are its tail."""


@dataclass(frozen=True, slots=True)
class ClosedIncident:
    """What is left of an incident of an earlier process: enough not to announce it again.

    `kinds` are the kinds of its symptoms; `resolved_at` is None where it was open.
    """

    id: IncidentId
    jobs: tuple[Job, ...]
    kinds: frozenset[str]
    opened_at: float
    detected_at: float
    resolved_at: float | None
    handling: IncidentHandling = field(default_factory=IncidentHandling)
    moments: tuple[TimelineMoment, ...] = ()
    """The timeline's entries that say what people did."""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "ClosedIncident":
        resolved = document["resolved_at"]
        return cls(
            id=IncidentId(document["id"]),
            jobs=tuple(Job(job) for job in document["jobs"]),
            kinds=frozenset(symptom["kind"] for symptom in document["symptoms"]),
            opened_at=parse(document["opened_at"]),
            detected_at=parse(document["detected_at"]),
            resolved_at=None if resolved is None else parse(resolved),
            handling=handled.handling(document),
            moments=handled.moments(document),
        )

    def covers(self, symptom: Finding) -> bool:
        """Return whether a symptom is of this incident, found again in the middle or at its end."""
        end = float("inf") if self.resolved_at is None else self.resolved_at
        return (
            symptom.kind in self.kinds
            and self.opened_at - 1 <= symptom.onset[1]
            and symptom.onset[0] <= end + 1
        )

    def is_tail(self, symptom: Finding, now: float) -> bool:
        """Return whether a symptom found at `now` is of this incident, and that is over."""
        if self.resolved_at is None or not self.covers(symptom):
            return False
        by_person = self.handling.resolved is not None
        quiet = REOPEN_SECONDS if by_person else TAIL_SECONDS
        return now <= self.resolved_at + quiet


@dataclass(slots=True)
class ClosedIncidents:
    """Resolved incidents, oldest first."""

    incidents: dict[IncidentId, TrackedIncident] = field(default_factory=dict)
    past: dict[Job, list[ClosedIncident]] = field(default_factory=dict)
    _by_job: dict[Job, list[IncidentId]] = field(default_factory=dict)

    def add(self, incident: TrackedIncident) -> list[TrackedIncident]:
        """Keep a resolved incident; return those that are forgotten for it."""
        self.incidents.pop(incident.id, None)
        self.incidents[incident.id] = incident
        for job in incident.parts:
            ids = [held for held in self._by_job.get(job, ()) if held != incident.id]
            self._by_job[job] = [*ids, incident.id][-KEPT_OF_A_JOB:]
        forgotten: list[TrackedIncident] = []
        while len(self.incidents) > KEPT_CLOSED:
            old = self.incidents.pop(next(iter(self.incidents)))
            forgotten.append(old)
            for job in old.parts:
                left = [held for held in self._by_job.get(job, ()) if held != old.id]
                if left:
                    self._by_job[job] = left
                else:
                    self._by_job.pop(job, None)
        return forgotten

    def take(self, incident: TrackedIncident) -> None:
        """Let go of an incident that is reopened."""
        del self.incidents[incident.id]
        for job in incident.parts:
            self._by_job[job] = [held for held in self._by_job[job] if held != incident.id]

    def of_job(self, job: Job) -> Iterator[TrackedIncident]:
        """Return the resolved incidents of a job, newest first."""
        for held in reversed(self._by_job.get(job, ())):
            if held in self.incidents:
                yield self.incidents[held]

    def remember(self, incident: ClosedIncident) -> None:
        """Take in an incident of an earlier process."""
        for job in incident.jobs:
            rows = [row for row in self.past.get(job, ()) if row.id != incident.id]
            self.past[job] = [*rows, incident][-KEPT_OF_A_JOB:]

    def is_tail(self, job: Job, symptom: Finding, now: float) -> bool:
        """Return whether a symptom belongs to an incident that is over."""
        if any(row.is_tail(symptom, now) for row in self.past.get(job, ())):
            return True
        return any(
            symptom.kind in row.held_kinds(job)
            and row.handling.resolved is None
            and row.opened_at - 1 <= symptom.onset[1]
            and symptom.onset[0] <= (row.resolved_at or row.closed_at) + 1
            and now <= row.closed_at + TAIL_SECONDS
            for row in self.of_job(job)
        )

    def open_past(self, job: Job, symptom: Finding) -> ClosedIncident | None:
        """Return the incident of an earlier process that was open and has this symptom."""
        rows = self.past.get(job, ())
        return next((r for r in rows if r.resolved_at is None and r.covers(symptom)), None)
