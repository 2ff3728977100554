"""One case from its first symptom to its end: pure, and by `now` alone.

A case collects what belongs to one cause; its incident document changes only when something
material does (a symptom, the severity, the first cause, its evidence, the end). Every change says
whether it is worth telling people about.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..vocabulary import faults
from ..vocabulary import findings as kinds
from ..vocabulary.faults import SEVERITIES, Severity
from ..vocabulary.findings import Finding
from ..vocabulary.ids import IncidentId, Job
from ..vocabulary.incidents import (
    CauseStatus,
    Impact,
    Incident,
    Moment,
    RootCause,
    Symptom,
)
from . import summary

STABLE_SECONDS = 10.0
"""The first cause must hold for so long before it is called stable."""

CALM_SECONDS = 30.0
"""A case whose symptoms are gone for so long, with training going on, is resolved."""

REFRESH_SECONDS = 30.0
"""How often the impact alone is worth a new document."""

GONE_SECONDS = 300.0
"""A job that was silent for so long is gone, and costs no more; a restart takes less."""

MARGIN = 0.5
"""How far another first cause must lead (nats) before it replaces a stable one."""

STOPPED = ("job.stalled", "job.crashed", "host.silent", "job.nonfinite")
"""Symptoms under which all the time of all ranks is lost."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to an incident, and whether receivers hear of it."""

    kind: Literal[
        "incident.opened", "incident.updated", "incident.acknowledged", "incident.resolved"
    ]
    incident: Incident
    notify: bool


@dataclass(frozen=True, slots=True)
class JobHealth:
    """What a case needs to know of its job besides findings: size and health at `now`."""

    ranks: int
    nodes: int
    cluster: str | None
    attempt: int
    last_step_at: float
    """When the newest step ended; of the newest attempt, whichever that is."""
    silent_seconds: float


@dataclass(slots=True)
class TrackedIncident:
    """An incident in the making: what is known beyond its document."""

    job: Job
    attempt: int
    opened_at: float
    detected_at: float
    first_kind: str
    symptoms_begun: list[tuple[str, float]] = field(default_factory=list)
    """(kind, onset) of every symptom that joined, for those that may join later."""
    symptoms: dict[str, Symptom] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    last_active: float = 0.0
    severity: Severity = "info"
    cause: RootCause | None = None
    cause_since: float = 0.0
    rival_since: float | None = None
    slowdown: float | None = None
    notified_severity: Severity | None = None
    notified_cause: str = ""
    cause_notified_again: bool = False
    timeline: list[Moment] = field(default_factory=list)
    resolved_at: float | None = None
    document: Incident | None = None

    @property
    def id(self) -> IncidentId:
        """Return the hash of job, first symptom and onset: the same in every replay."""
        text = f"{self.job}\0{self.first_kind}\0{round(self.opened_at * 1000)}"
        return IncidentId(hashlib.sha256(text.encode()).hexdigest()[:20])

    def advance(
        self,
        symptoms: Sequence[Finding],
        evidence: Sequence[Finding],
        cause: RootCause | None,
        health: JobHealth,
        now: float,
    ) -> Change | None:
        """Take what was found at `now`; return the change, if any is material.

        `symptoms` are this case's own, `evidence` everything else found about its job; `cause` is
        what explains them, None when there is no symptom any more.
        """
        if self.resolved_at is not None:
            return None
        if not symptoms or cause is None:
            return self._calm(health, now)
        gone = max(health.silent_seconds - GONE_SECONDS, 0.0)
        self.last_active = max(self.last_active, now - gone)
        self.findings = (*symptoms, *evidence)
        material = self._note_symptoms(symptoms, now)
        material |= self._note_cause(cause, now)
        material |= self._note_severity(symptoms, now)
        opened = self.document is None
        stale = (
            not opened
            and self.document is not None
            and now - self.document.updated_at >= REFRESH_SECONDS
            and health.silent_seconds < GONE_SECONDS
        )
        if not (opened or material or stale):
            return None
        if opened:
            self.timeline.append(Moment(now, "opened", next(iter(self.symptoms.values())).text))
        self.document = self._incident(health, now)
        kind: Literal["incident.opened", "incident.updated"] = (
            "incident.opened" if opened else "incident.updated"
        )
        return Change(kind, self.document, self._worth_telling())

    def _note_symptoms(self, symptoms: Sequence[Finding], now: float) -> bool:
        material = False
        for finding in symptoms:
            key = f"{finding.kind} {finding.entity.type} {finding.entity.id}"
            held = self.symptoms.get(key)
            if held is None:
                material = True
                if self.symptoms:
                    self.timeline.append(Moment(now, "symptom", finding.text))
            self.symptoms[key] = Symptom(
                kind=finding.kind,
                entity=finding.entity,
                onset=finding.onset[0] if held is None else held.onset,
                magnitude=finding.magnitude,
                detector=finding.detector if held is None else held.detector,
                text=finding.text,
            )
            if finding.kind == "job.slow":
                self.slowdown = finding.magnitude
        return material

    def _note_cause(self, cause: RootCause, now: float) -> bool:
        held = self.cause
        if held is None:
            self.cause, self.cause_since = cause, now
            return True
        first, known = cause.hypotheses[0], held.hypotheses[0]
        if (first.fault, first.entity.type, first.entity.id) != (
            known.fault, known.entity.type, known.entity.id
        ):  # fmt: skip
            return self._rival(cause, now)
        self.rival_since = None
        status: CauseStatus = (
            "stable" if now - self.cause_since >= STABLE_SECONDS else "provisional"
        )
        settled = status == "stable" and held.status != "stable"
        if held.status == "stable" and first.score < known.score + MARGIN:
            return False
        better = _shape(cause) != _shape(held) or first.score > known.score + MARGIN
        if not better and not settled:
            return False
        self.cause = _with_status(cause, "stable" if held.status == "stable" else status)
        if settled:
            self.timeline.append(Moment(now, "cause", f"stable: {_named(self.cause)}"))
        return True

    def _rival(self, cause: RootCause, now: float) -> bool:
        """Take over another first cause: at once while provisional, else if it leads and lasts."""
        held = self.cause
        assert held is not None  # noqa: S101  _note_cause has looked
        if held.status == "stable":
            if cause.hypotheses[0].score < held.hypotheses[0].score + MARGIN:
                self.rival_since = None
                return False
            if self.rival_since is None:
                self.rival_since = now
            if now - self.rival_since < STABLE_SECONDS / 2:
                return False
        self.cause, self.cause_since, self.rival_since = cause, now, None
        self.timeline.append(Moment(now, "cause", f"first cause is now {_named(cause)}"))
        return True

    def _note_severity(self, symptoms: Sequence[Finding], now: float) -> bool:
        assert self.cause is not None  # noqa: S101  _note_cause has set it
        severity = _severity(symptoms, self.cause, now - self.opened_at)
        if SEVERITIES.index(severity) >= SEVERITIES.index(self.severity):
            return False  # a case never gets milder
        if self.document is not None:
            self.timeline.append(Moment(now, "severity", f"{self.severity} -> {severity}"))
        self.severity = severity
        return True

    def _worth_telling(self) -> bool:
        """Tell people at first above info, when it gets worse, and once when the cause changes."""
        assert self.document is not None  # noqa: S101  only called with a document
        if self.severity == "info":
            return False
        if self.notified_severity is None or (
            SEVERITIES.index(self.severity) < SEVERITIES.index(self.notified_severity)
        ):
            self.notified_severity = self.severity
            self.notified_cause = _named(self.document.root_cause)
            return True
        if (
            not self.cause_notified_again
            and _named(self.document.root_cause) != self.notified_cause
        ):
            self.cause_notified_again = True
            return True
        return False

    def _calm(self, health: JobHealth, now: float) -> Change | None:
        if now - self.last_active < CALM_SECONDS or self.document is None:
            return None
        kinds_held = {symptom.kind for symptom in self.symptoms.values()}
        stepped = health.last_step_at > self.last_active - 1.0 or health.attempt > self.attempt
        over = health.silent_seconds > GONE_SECONDS and not kinds_held & set(STOPPED)
        if not (stepped or over):
            return None
        self.resolved_at = self.last_active
        self.timeline.append(
            Moment(now, "resolved", "training goes on" if stepped else "the job has ended")
        )
        self.document = self._incident(health, now)
        return Change("incident.resolved", self.document, self.notified_severity is not None)

    def _incident(self, health: JobHealth, now: float) -> Incident:
        assert self.cause is not None  # noqa: S101  set before any document is made
        symptoms = tuple(sorted(self.symptoms.values(), key=lambda s: (s.onset, s.kind, s.entity)))
        impact = self._impact(health)
        return Incident(
            id=self.id,
            jobs=(self.job,),
            attempt=self.attempt,
            cluster=health.cluster,
            status="open" if self.resolved_at is None else "resolved",
            severity=self.severity,
            opened_at=self.opened_at,
            detected_at=self.detected_at,
            updated_at=now,
            resolved_at=self.resolved_at,
            summary=summary.sentence(self.cause, symptoms),
            symptoms=symptoms,
            root_cause=self.cause,
            impact=impact,
            timeline=tuple(self.timeline),
        )

    def _impact(self, health: JobHealth) -> Impact:
        stopped = any(symptom.kind in STOPPED for symptom in self.symptoms.values())
        lasted = max(self.last_active - self.opened_at, 0.0)
        share = 1.0 if stopped else 1 - 1 / max(self.slowdown or 1.0, 1.0)
        return Impact(
            ranks=health.ranks,
            nodes=health.nodes,
            slowdown=None if stopped else self.slowdown,
            gpu_seconds_lost=health.ranks * lasted * share,
        )


def open_incident(job: Job, attempt: int, symptom: Finding, now: float) -> TrackedIncident:
    """Return a new case for a symptom first seen at `now`."""
    return TrackedIncident(
        job=job,
        attempt=attempt,
        opened_at=symptom.onset[0],
        detected_at=now,
        first_kind=symptom.kind,
    )


def _severity(symptoms: Sequence[Finding], cause: RootCause, lasted: float) -> Severity:
    """Return how bad it is: as the first cause usually is, within what the symptoms make certain.

    A stall starts as info: evaluation or a checkpoint may explain it; its detector's score says
    when that is over. Slowness without a named cause is worth a page to nobody for a minute.
    """
    known = faults.catalogue()[cause.hypotheses[0].fault]
    named = known.id != faults.UNKNOWN
    stopped = [symptom for symptom in symptoms if symptom.kind in STOPPED]
    if stopped:
        certain = max(symptom.score for symptom in stopped)
        if all(symptom.kind == "job.stalled" for symptom in stopped) or not named:
            return "critical" if certain >= 3 else "warning" if certain >= 2 else "info"
        return known.severity if certain >= 2 else "warning"
    if not named and lasted < 60.0:
        return "info"
    return known.severity


def _shape(cause: RootCause) -> tuple[object, ...]:
    """Return what makes two explanations differ to a reader: places and evidence, not decimals."""
    return tuple(
        (
            row.fault,
            row.entity.type,
            row.entity.id,
            row.confidence,
            tuple(sorted((e.relation, e.family, e.entity.id, e.signal) for e in row.evidence)),
        )
        for row in cause.hypotheses[:1]
    )


def _with_status(cause: RootCause, status: CauseStatus) -> RootCause:
    return replace(cause, status=status)


def _named(cause: RootCause) -> str:
    first = cause.hypotheses[0]
    return f"{first.fault} ({first.entity})"


def is_symptom(finding: Finding) -> bool:
    """Tell whether a finding opens an incident."""
    return kinds.catalogue()[finding.kind].symptom
