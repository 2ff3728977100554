"""One incident from its first symptom to its end: pure, and by `now` alone.

An incident is one root cause with its scope. Until it is worth one (policy.py) what was found is an
observation, which has no document. A document changes only when something material does (a symptom,
the severity, the first cause, its evidence, what people did, the end). Every change says whether it
is worth a notice.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..vocabulary import faults
from ..vocabulary import findings as kinds
from ..vocabulary.faults import Severity
from ..vocabulary.findings import Finding
from ..vocabulary.handling import IncidentHandling
from ..vocabulary.ids import Fault, IncidentId, Job
from ..vocabulary.incidents import CauseChange, Happening, Incident, RootCause, TimelineMoment
from ..vocabulary.inspection import IncidentProfile, StackGroup
from . import first_cause, stacks, summary
from .affected_job import AffectedJob, JobHealth, total
from .causes.engine import RootExplanation, ranks_at
from .counterfactuals import StepMeter, unmeasured
from .first_cause import FirstCause
from .notices import SentNotices
from .outside import MOST_NOTED, TimelineNote
from .policy import IncidentPolicy
from .severity import severity, waits_for_its_cost, worse

__all__ = ["IncidentChange", "JobHealth", "TrackedIncident", "incident_id", "is_symptom"]

REFRESH_SECONDS = 30.0
"""How often the impact alone is worth a new document."""

MOST_MOMENTS = 200
"""Entries of a timeline; of a longer one the middle is left out."""

MOST_CAUSES = 50
"""Entries of the history of first causes, likewise."""


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """What happened to an incident, and whether people are notified of it."""

    kind: Happening
    incident: Incident
    notify: bool


@dataclass(slots=True)
class TrackedIncident:
    """An incident and what its document does not show; `parts` are the jobs it affects.

    Its first symptom was found at `found_at`; since `detected_at` it is an incident, None: what was
    found is an observation.
    """

    id: IncidentId
    attempt: int
    opened_at: float
    found_at: float
    detected_at: float | None = None
    owed_at: float | None = None
    """From when on it stands for an incident that was shown, whatever it would be otherwise."""
    parts: dict[Job, AffectedJob] = field(default_factory=dict)
    first: FirstCause | None = None
    severity: Severity = "info"
    notices: SentNotices = field(default_factory=SentNotices)
    timeline: list[TimelineMoment] = field(default_factory=list)
    cause_history: list[CauseChange] = field(default_factory=list)
    handling: IncidentHandling = field(default_factory=IncidentHandling)
    resolved_at: float | None = None
    awaited_at: float | None = None
    """Since when it is open for its device alone (see repairs.py), None where it is not."""
    closed_at: float = 0.0
    document: Incident | None = None
    noted: set[str] = field(default_factory=set)
    """What of others' alerts stands in the timeline, by key."""
    profiles: tuple[IncidentProfile, ...] = ()
    stacks: tuple[StackGroup, ...] = ()

    @property
    def root(self) -> first_cause.RootKey:
        """Return the root that the incident shows."""
        assert self.first is not None  # noqa: S101  set by the first advance
        return first_cause.key(self.first.cause)

    @property
    def minor(self) -> bool:
        """Return whether it is info though its cause is named: it will hardly become more."""
        if self.first is None or self.severity != "info":
            return False
        return self.first.cause.hypotheses[0].fault != faults.UNKNOWN

    @property
    def announced(self) -> bool:
        """Return whether it is an incident, and no observation."""
        return self.document is not None

    @property
    def waits_for_its_cost(self) -> bool:
        """Return whether all that it says is that jobs are slow, and nothing is broken."""
        symptoms = [symptom for part in self.parts.values() for symptom in part.active]
        return self.first is not None and waits_for_its_cost(symptoms, self.first.cause)

    @property
    def open(self) -> bool:
        """Return whether its symptoms are followed: it is not resolved, and not only awaited."""
        return self.resolved_at is None and self.awaited_at is None

    def without_symptoms(self, now: float) -> bool:
        """Return whether none of its symptoms was found in the last evaluation before `now`."""
        return all(part.last_active < now - 1.0 for part in self.parts.values())

    def held_kinds(self, job: Job) -> set[str]:
        """Return the kinds of symptoms that a job has had in this incident."""
        part = self.parts.get(job)
        return set() if part is None else {kind for kind, *_ in part.symptoms}

    def advance(
        self,
        job: Job,
        explanation: RootExplanation | None,
        health: JobHealth,
        now: float,
        policy: IncidentPolicy,
        *,
        gone: bool = False,
        meter: StepMeter = unmeasured,
    ) -> IncidentChange | None:
        """Take what was found about one of the jobs at `now`; return the change, if material.

        `explanation` has this incident's symptoms, None when there are none any more; `gone`:
        the device that it is about is not back yet; `meter` is asked before it gets worse. What it
        costs is in the change once the job's losses are divided (`counted`).
        """
        if not self.open:
            return None
        if explanation is None or health.over:
            return self.absent(job, health, now, gone=gone)
        part = self.parts.get(job)
        if part is None:
            onset = min(symptom.onset[0] for symptom in explanation.symptoms)
            part = self.parts[job] = AffectedJob(job, health.attempt, onset, health)
        symptoms = explanation.symptoms
        new = part.found(symptoms, health, now)
        if self.document is not None:
            for text in new:
                self._note(now, "symptom", text)
        observed = None if self.first is None or self.announced else self.root
        material = bool(new) | self._note_cause(explanation, now)
        assert self.first is not None  # noqa: S101  _note_cause has set it
        if observed is not None and self._begins_anew(explanation, after=observed[0]):
            self._begin_anew(job, symptoms, health, now)
        found = self.severity_of(symptoms, self.first.cause, health, now, policy)
        if worse(found, self.severity):  # an incident never gets milder
            self.measure(job, meter, now)
            found = self.severity_of(symptoms, self.first.cause, health, now, policy)
            material |= self._note_severity(found, now)
        if self.document is not None:
            stale = now - self.document.updated_at >= REFRESH_SECONDS
            if not (material or stale or self.notices.reopened):
                return None
            happening: Happening = "incident.updated"
        elif self._owed(now) or policy.is_incident(
            self.severity,
            self.first.cause,
            symptoms,
            costly=self._is_costly(symptoms, self.first.cause, policy),
        ):
            if self.detected_at is None:
                self.detected_at = now
            self._note(now, "opened", new[0] if new else symptoms[0].text)
            happening = "incident.opened"
        else:
            for text in new:
                self._note(now, "observed", text)
            return None
        notify = self.notices.due(self.severity, first_cause.named(self.first.cause))
        return self.change(happening, now, notify=notify)

    def _begins_anew(self, explanation: RootExplanation, *, after: Fault) -> bool:
        """Return whether what was observed turns out to be the eve of something else.

        Slowness that nothing explains is one thing however often it returns. What a cause explains
        that was not seen before began when its own symptoms did, by their detectors' dating.
        """
        if self.root[0] in (after, faults.UNKNOWN) or self.owed_at is not None:
            return False
        if len(self.parts) > 1 or self.waits_for_its_cost:
            return False
        return all(row.onset[0] > self.found_at for row in explanation.symptoms)

    def _begin_anew(
        self, job: Job, symptoms: Sequence[Finding], health: JobHealth, now: float
    ) -> None:
        self.opened_at = onset = min(symptom.onset[0] for symptom in symptoms)
        self.found_at = now
        part = self.parts[job] = AffectedJob(job, health.attempt, onset, health)
        part.found(symptoms, health, now)

    def _is_costly(
        self, symptoms: Sequence[Finding], cause: RootCause, policy: IncidentPolicy
    ) -> bool:
        """Return whether one of the jobs has lost as much as a person's time is worth."""
        return any(
            policy.is_costly(sum(part.lost.values()), part.health.ranks, symptoms, cause)
            for part in self.parts.values()
        )

    def _owed(self, now: float) -> bool:
        return self.owed_at is not None and now >= self.owed_at

    def note(self, notes: Iterable[TimelineNote], now: float) -> bool:
        """Take what others or checks reported into the timeline; return whether it is new."""
        if self.document is None:
            return False
        before = len(self.noted)
        for note in notes:
            if note.key not in self.noted and len(self.noted) < MOST_NOTED:
                self.noted.add(note.key)
                self._note(now, note.kind, note.text)
        return len(self.noted) > before

    def stops(self, job: Job) -> bool:
        """Return whether the incident has a symptom that stops a job."""
        catalogue = kinds.catalogue()
        return any(catalogue[kind].effect == "stops" for kind in self.held_kinds(job))

    def take_stacks(self, texts: Mapping[int, str], now: float) -> bool:
        """Take the newest stacks by rank; return whether they say anything new."""
        if self.document is None or not texts:
            return False
        found = stacks.folded(texts)
        if stacks.same(self.stacks, found):
            return False
        before, self.stacks = stacks.odd_text(self.stacks), found
        odd = stacks.odd_text(found)
        if odd is not None and odd != before:
            self._note(now, "stack", odd)
        return True

    def reopen(self, now: float, text: str) -> None:
        """Open the incident again; the next advance makes the document."""
        self.resolved_at = self.awaited_at = None
        self.handling = replace(self.handling, resolved=None, acknowledged=None)
        self.notices.again(quiet=self.waits_for_its_cost)
        self._note(now, "observed" if self.document is None else "reopened", text)

    def end(self, now: float, *, at: float) -> None:
        """End what is followed at a time in seconds since the epoch."""
        self.resolved_at, self.closed_at = max(at, self.opened_at), now
        self.awaited_at = None

    def resolve(self, now: float, text: str, *, at: float, notify: bool) -> IncidentChange:
        """End the incident at a time in seconds since the epoch."""
        self.end(now, at=at)
        self._note(now, "resolved", text)
        return self.change("incident.resolved", now, notify=notify)

    def wait(self, now: float, text: str) -> IncidentChange:
        """Follow the jobs no more, and stay open for the device that is gone."""
        self.awaited_at = self.closed_at = now
        self._note(now, "awaited", text)
        return self.change("incident.updated", now, notify=False)

    def change(self, kind: Happening, now: float, *, notify: bool) -> IncidentChange:
        """Make the document anew and return the change to it."""
        self.document = self._incident(now)
        return IncidentChange(kind, self.document, notify)

    def measure(self, job: Job, meter: StepMeter, now: float) -> None:
        """Measure what the first cause takes of a job's steps, before a document is made of it."""
        part = self.parts.get(job)
        if part is not None and self.first is not None:
            cause = self.first.cause
            part.measure(meter, cause.hypotheses[0].fault, ranks_at(cause), now)

    def counted(self, change: IncidentChange) -> IncidentChange:
        """Return a change with what the incident costs by now."""
        reached = change.incident.impact.ranks_at_cause
        impact = total(list(self.parts.values()), ranks_at_cause=reached)
        document = replace(change.incident, impact=impact)
        if change.incident is self.document:
            self.document = document
        return replace(change, incident=document)

    def _note_cause(self, explanation: RootExplanation, now: float) -> bool:
        if self.first is None:
            self.first = FirstCause(explanation.cause, now, now)
            self._note_first(now)
            return True
        # Slowness lasts as long as its cause; what is seen of it may still be of that time.
        ages = all(
            kinds.catalogue()[s.kind].effect == "slows" and s.window[0] > self.first.supported_at
            for s in explanation.symptoms
        )
        ages |= self.first.over({symptom.kind for symptom in explanation.symptoms})
        checked = not all(symptom.claimed for symptom in explanation.symptoms)
        text = self.first.update(
            explanation.cause, now, ages=ages, checked=checked, answers=explanation.answers
        )
        if text:
            self._note(now, "cause", text)
            self._note_first(now)
        return text is not None

    def _note_first(self, now: float) -> None:
        """Note the first cause that the incident shows from now on."""
        assert self.first is not None  # noqa: S101  set by the caller
        cause = self.first.cause
        first = cause.hypotheses[0]
        self.cause_history.append(
            CauseChange(
                at=now,
                status=cause.status,
                fault=first.fault,
                entity=first.entity,
                confidence=first.confidence,
                score=first.score,
                why=self.first.why,
            )
        )
        if len(self.cause_history) > MOST_CAUSES:
            del self.cause_history[MOST_CAUSES // 2]

    def _note_severity(self, found: Severity, now: float) -> bool:
        if not worse(found, self.severity):
            return False
        if self.document is not None:
            self._note(now, "severity", f"{self.severity} -> {found}")
        self.severity = found
        return True

    def severity_of(
        self,
        symptoms: Sequence[Finding],
        cause: RootCause,
        health: JobHealth,
        now: float,
        policy: IncidentPolicy,
    ) -> Severity:
        """Return how bad symptoms of one of its jobs are, by what it has cost so far."""
        lasted, costly = now - self.found_at, self._is_costly(symptoms, cause, policy)
        # Of several jobs one may gain nothing where another does.
        measured = [part.measured.steps for part in self.parts.values()]
        steps = measured[0] if len(measured) == 1 else None
        return severity(symptoms, cause, lasted, health.step_seconds, costly=costly, steps=steps)

    def absent(
        self, job: Job, health: JobHealth, now: float, *, gone: bool = False
    ) -> IncidentChange | None:
        """Take that nothing of it was found about one of the jobs; return its end, if this is it.

        An observation ends without a change.
        """
        part = self.parts.get(job)
        if part is None or self.first is None or not self.open:
            return None
        why = part.absent(health, now)
        newest = max(part.last_active for part in self.parts.values())
        going_on = [part.last_active for part in self.parts.values() if not part.health.over]
        if why is None or now - max(going_on, default=0.0) < self.notices.calm_seconds:
            return None
        if self.document is None:
            self.end(now, at=newest)
            return None
        if gone:
            device = self.first.cause.hypotheses[0].entity
            return self.wait(now, f"{why}; open until {device} gives readings again")
        return self.resolve(now, why, at=newest, notify=self.notices.severity is not None)

    def _note(self, now: float, kind: str, text: str) -> None:
        self.timeline.append(TimelineMoment(now, kind, text))
        if len(self.timeline) > MOST_MOMENTS:
            del self.timeline[MOST_MOMENTS // 2]

    def _incident(self, now: float) -> Incident:
        assert self.first is not None  # noqa: S101  set before any document is made
        parts = list(self.parts.values())
        symptoms = tuple(
            sorted(
                (symptom for part in parts for symptom in part.symptoms.values()),
                key=lambda s: (s.onset, s.kind, s.entity),
            )
        )
        cause = self.first.cause
        if self.handling.feedback and self.handling.feedback[-1].verdict == "correct":
            cause = replace(cause, status="confirmed")
        status: Literal["open", "acknowledged"] = (
            "open" if self.handling.acknowledged is None else "acknowledged"
        )
        return Incident(
            id=self.id,
            jobs=tuple(self.parts),
            attempt=self.attempt,
            cluster=parts[0].health.cluster,
            status="resolved" if self.resolved_at is not None else status,
            severity=self.severity,
            opened_at=self.opened_at,
            detected_at=self.found_at if self.detected_at is None else self.detected_at,
            updated_at=now,
            resolved_at=self.resolved_at,
            summary=summary.sentence(cause, symptoms, len(parts)),
            symptoms=symptoms,
            root_cause=cause,
            impact=total(parts, ranks_at_cause=len(ranks_at(cause))),
            cause_history=tuple(self.cause_history),
            timeline=tuple(self.timeline),
            handling=self.handling,
            stacks=self.stacks,
            profiles=self.profiles,
        )


def incident_id(job: Job, first_kind: str, opened_at: float) -> IncidentId:
    """Return the hash of job, first symptom and onset: the same in every replay."""
    text = f"{job}\0{first_kind}\0{round(opened_at * 1000)}"
    return IncidentId(hashlib.sha256(text.encode()).hexdigest()[:20])


def is_symptom(finding: Finding) -> bool:
    """Return whether a finding opens an incident."""
    return kinds.catalogue()[finding.kind].symptom
