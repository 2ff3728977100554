"""Which incident an explanation belongs to that none of its job's open incidents matches.

It reopens an incident that returned, joins one that another job has on the same entity, or opens
its own; the tail of an incident that is over, and what led to one that is open, belong to none.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ..vocabulary import faults
from ..vocabulary.findings import Finding
from ..vocabulary.ids import IncidentId, Job
from . import changes, first_cause, matching
from .affected_job import JobHealth
from .causes.engine import RootExplanation
from .closed import REOPEN_SECONDS, SLOW_AGAIN_SECONDS, ClosedIncidents
from .lifecycle import TrackedIncident, incident_id
from .news import came_after, is_news, supported_from
from .open_incidents import OpenIncidents
from .policy import IncidentPolicy
from .severity import worse


@dataclass(frozen=True, slots=True)
class UnmatchedFindings:
    """Finds the incident of what is left over. `used` are the ids that incidents have had."""

    open: OpenIncidents
    closed: ClosedIncidents
    used: Collection[IncidentId]
    policy: IncidentPolicy

    def incident_of(
        self,
        job: Job,
        explanation: RootExplanation,
        incidents: Sequence[TrackedIncident],
        health: JobHealth,
        now: float,
    ) -> tuple[TrackedIncident, RootExplanation] | None:
        """Return the incident of an explanation and what of that is its; None for a tail.

        `incidents` are the job's, with those that were found a moment ago.
        """
        symptoms = tuple(s for s in explanation.symptoms if not self.closed.is_tail(job, s, now))
        if not symptoms:
            return None
        explanation = replace(explanation, symptoms=symptoms)
        ended = self._resolved_by_person(job, explanation, now)
        if ended is not None:
            symptoms, reopened = ended
            if reopened is not None:
                return reopened, explanation
            if not symptoms:
                return None
            explanation = replace(explanation, symptoms=symptoms)
        if matching.led_to(explanation, incidents):
            return None
        incident = self._returned(job, explanation, now) or self.shared(explanation, job)
        if incident is None:
            idle = (row for row in incidents if row.open and row.without_symptoms(now))
            incident = next((row for row in idle if matching.shows_why(row, explanation)), None)
        if incident is None:
            incident = self._new(job, explanation, incidents, health, now)
        return incident, explanation

    def shared(self, explanation: RootExplanation, job: Job) -> TrackedIncident | None:
        """Return an open incident with the same root, on what jobs can share.

        None where it is of this job, and what the explanation reports is newer.
        """
        root = first_cause.key(explanation.cause)
        one_change = changes.change_of(explanation) is not None
        if root[0] == faults.UNKNOWN or not (root[1] in matching.SHARED_TYPES or one_change):
            return None
        return next(
            (
                incident
                for incident in self.open
                if incident.open
                and incident.first is not None
                and incident.root == root
                and not is_news(explanation, incident, job)
            ),
            None,
        )

    def _resolved_by_person(
        self, job: Job, explanation: RootExplanation, now: float
    ) -> tuple[tuple[Finding, ...], TrackedIncident | None] | None:
        """Return the symptoms that a person has not resolved, and what got worse since they did.

        None where no such incident lasts on. What a person resolved stays quiet until its symptoms
        are gone for a while and return, or it gets worse. Of slowness without a named cause what it
        cost until then counts: that it goes on is what the person knew.
        """
        for incident in self.closed.of_job(job):
            held = incident.held_kinds(job)
            part = incident.parts.get(job)
            if incident.handling.resolved is None or part is None:
                continue
            lasting = now - part.last_active <= incident.notices.calm_seconds
            same = [s for s in explanation.symptoms if s.kind in held]
            if not lasting or not same:
                continue
            part.last_active = now
            new = tuple(s for s in explanation.symptoms if s.kind not in held)
            symptoms, cause = explanation.symptoms, explanation.cause
            bad = incident.severity_of(symptoms, cause, part.health, now, self.policy)
            if not new and worse(bad, incident.severity):
                self._reopen(incident, now, f"worse since it was resolved: {bad}")
                return (), incident
            return new, None
        return None

    def _returned(
        self, job: Job, explanation: RootExplanation, now: float
    ) -> TrackedIncident | None:
        """Reopen the incident whose root is back, or whose symptom is while no root is named."""
        root = first_cause.key(explanation.cause)
        shown = {symptom.kind for symptom in explanation.symptoms}
        for incident in self.closed.of_job(job):
            within = SLOW_AGAIN_SECONDS if incident.waits_for_its_cost else REOPEN_SECONDS
            late = incident.awaited_at is None and now - incident.closed_at > within
            if late or not shown & incident.held_kinds(job):
                continue
            if is_news(explanation, incident, job):
                continue
            again = matching.is_return(incident, explanation, job)
            if again or incident.root == root or faults.UNKNOWN in (root[0], incident.root[0]):
                if again:
                    incident.first = first_cause.FirstCause(explanation.cause, now, now)
                self._reopen(incident, now, explanation.symptoms[0].text)
                return incident
        return None

    def _reopen(self, incident: TrackedIncident, now: float, text: str) -> None:
        self.closed.take(incident)
        incident.reopen(now, text)
        self.open.add(incident)

    def _new(
        self,
        job: Job,
        explanation: RootExplanation,
        incidents: Sequence[TrackedIncident],
        health: JobHealth,
        now: float,
    ) -> TrackedIncident:
        first = min(explanation.symptoms, key=lambda s: (s.onset[0], s.kind, s.entity))
        past = self.closed.open_past(job, first)
        if past is not None:
            return TrackedIncident(
                past.id,
                health.attempt,
                past.opened_at,
                min(now, past.detected_at),  # a journal that is read again is before it
                detected_at=past.detected_at,
                owed_at=past.detected_at,
                handling=past.handling,
                timeline=list(past.moments),
            )
        begun = (first.onset[0] + first.onset[1]) / 2
        if any(came_after(explanation, row) for row in (*incidents, *self.closed.of_job(job))):
            begun = max(begun, supported_from(explanation.cause.hypotheses[0]))
        name = incident_id(job, first.kind, begun)
        held = (incident.id for incident in incidents)
        if name in self.used or name in self.closed.incidents or name in held:
            # Another root of the same symptom.
            root = "\0".join(first_cause.key(explanation.cause))
            name = incident_id(job, f"{first.kind}\0{root}", begun)
        return TrackedIncident(name, health.attempt, begun, now)
