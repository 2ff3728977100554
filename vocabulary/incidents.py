"""The incident document, as frozen values and as JSON-ready objects.

Times are seconds since the epoch here, RFC 3339 in the document.
Numbers are rounded to six significant digits in the document, so that a replay on another machine
prints the same bytes.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from .entities import Entity
from .faults import Severity
from .handling import Handling
from .ids import Fault, IncidentId
from .inspection import Profiled, StackGroup
from .ranks import Ranks
from .rounding import number, shown
from .times import rfc3339, week_name

SCHEMA_VERSION = "1.0"

Status = Literal["open", "acknowledged", "resolved"]
CauseStatus = Literal["provisional", "stable", "confirmed"]
Confidence = Literal["low", "medium", "high"]
CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")
Relation = Literal["supports", "contradicts", "missing"]


@dataclass(frozen=True, slots=True)
class Symptom:
    """What somebody notices: the job is slow, stalled, non-finite, crashed.

    `ranks` are those that stand out in it, empty where none does.
    """

    kind: str
    entity: Entity
    onset: float
    magnitude: float
    detector: str
    text: str
    ranks: Ranks = field(default_factory=Ranks)

    def document(self) -> dict[str, Any]:
        """Return the symptom as the incident document shows it."""
        return {
            "kind": self.kind,
            "entity": self.entity.document(),
            "onset": rfc3339(self.onset),
            "magnitude": number(self.magnitude),
            "detector": self.detector,
            "text": self.text,
            "ranks": self.ranks.document(),
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """One term of a hypothesis' score: `weight` is what it adds, in log-odds.

    `kind` is that of the finding it rests on, "" where it is none; it is not part of the document.
    """

    relation: Relation
    family: str
    entity: Entity
    signal: str
    window: tuple[float, float]
    observed: float | str | None
    expected: float | str | None
    weight: float
    text: str
    kind: str = ""

    def document(self) -> dict[str, Any]:
        """Return the evidence as the incident document shows it."""
        return {
            "relation": self.relation,
            "family": self.family,
            "entity": self.entity.document(),
            "signal": self.signal,
            "window": [rfc3339(self.window[0]), rfc3339(self.window[1])],
            "observed": shown(self.observed),
            "expected": shown(self.expected),
            "weight": number(self.weight),
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Action:
    """What to do: `when` is `now` or `investigate`; `command` may be empty."""

    when: Literal["now", "investigate"]
    text: str
    command: str = ""

    def document(self) -> dict[str, Any]:
        """Return the action as the incident document shows it."""
        return {"when": self.when, "text": self.text, "command": self.command}


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A candidate cause. `rank` counts from 1; `score` is in log-odds, the sum of every term."""

    rank: int
    fault: Fault
    entity: Entity
    score: float
    probability: float | None
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    actions: tuple[Action, ...]
    runbook: str

    def document(self) -> dict[str, Any]:
        """Return the hypothesis as the incident document shows it."""
        return {
            "rank": self.rank,
            "fault": self.fault,
            "entity": self.entity.document(),
            "score": number(self.score),
            "probability": number(self.probability),
            "confidence": self.confidence,
            "evidence": [row.document() for row in self.evidence],
            "actions": [row.document() for row in self.actions],
            "runbook": self.runbook,
        }


@dataclass(frozen=True, slots=True)
class NextCheck:
    """The cheapest test that separates two hypotheses."""

    text: str
    command: str
    separates: tuple[Fault, ...]

    def document(self) -> dict[str, Any]:
        """Return the check as the incident document shows it."""
        return {"text": self.text, "command": self.command, "separates": list(self.separates)}


@dataclass(frozen=True, slots=True)
class RootCause:
    """The ranked causes of an incident, what supports none of them, and how good the data was."""

    status: CauseStatus
    engine: str
    catalogue: str
    hypotheses: tuple[Hypothesis, ...]
    unknown_score: float
    unknown_reasons: tuple[str, ...]
    next_checks: tuple[NextCheck, ...]
    missing: tuple[str, ...]
    clock_skew_seconds: float
    coverage: float

    def document(self) -> dict[str, Any]:
        """Return the root cause as the incident document shows it."""
        return {
            "status": self.status,
            "engine": self.engine,
            "catalogue": self.catalogue,
            "hypotheses": [row.document() for row in self.hypotheses],
            "unknown": {"score": number(self.unknown_score), "reasons": list(self.unknown_reasons)},
            "next_checks": [row.document() for row in self.next_checks],
            "data_quality": {
                "missing": list(self.missing),
                "clock_skew_seconds": number(self.clock_skew_seconds),
                "coverage": number(self.coverage),
            },
        }


@dataclass(frozen=True, slots=True)
class Lost:
    """GPU-seconds that an incident took of one job in one week, by its Monday 00:00 UTC."""

    job: str
    week: int
    gpu_seconds: float

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "job": self.job,
            "week": week_name(self.week),
            "gpu_seconds_lost": number(self.gpu_seconds),
        }


@dataclass(frozen=True, slots=True)
class Impact:
    """What the incident costs; `slowdown` is a ratio to the healthy step time, None if stopped.

    The blast radius is all ranks and nodes of `jobs` jobs; `ranks_at_cause` of the ranks are placed
    on the entity of the first cause and the others that it names, the rest is held up by them.
    `lost` is `gpu_seconds_lost` by job and week. Time that incidents of one job lose together is
    divided among them: their sum is what the job lost.
    """

    ranks: int
    nodes: int
    slowdown: float | None
    gpu_seconds_lost: float
    jobs: int = 1
    ranks_at_cause: int = 0
    lost: tuple[Lost, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the impact as the incident document shows it."""
        return {
            "ranks": self.ranks,
            "nodes": self.nodes,
            "slowdown": number(self.slowdown),
            "gpu_seconds_lost": number(self.gpu_seconds_lost),
            "gpu_hours_lost": number(self.gpu_seconds_lost / 3600),
            "jobs": self.jobs,
            "ranks_at_cause": self.ranks_at_cause,
            "lost": [row.document() for row in self.lost],
        }


@dataclass(frozen=True, slots=True)
class CauseChange:
    """A first cause that an incident had from `at` on, and why it was named then."""

    at: float
    status: CauseStatus
    fault: Fault
    entity: Entity
    confidence: Confidence
    score: float
    why: str

    def document(self) -> dict[str, Any]:
        """Return the change as the incident document shows it."""
        return {
            "at": rfc3339(self.at),
            "status": self.status,
            "fault": self.fault,
            "entity": self.entity.document(),
            "confidence": self.confidence,
            "score": number(self.score),
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Moment:
    """One entry of an incident's timeline."""

    at: float
    kind: str
    text: str

    def document(self) -> dict[str, Any]:
        """Return the entry as the incident document shows it."""
        return {"at": rfc3339(self.at), "kind": self.kind, "text": self.text}


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident: symptoms of one cause, the ranked causes, the impact and the timeline."""

    id: IncidentId
    jobs: tuple[str, ...]
    attempt: int
    cluster: str | None
    status: Status
    severity: Severity
    opened_at: float
    detected_at: float
    updated_at: float
    resolved_at: float | None
    summary: str
    symptoms: tuple[Symptom, ...]
    root_cause: RootCause
    impact: Impact
    timeline: tuple[Moment, ...] = field(default=())
    handling: Handling = field(default_factory=Handling)
    cause_history: tuple[CauseChange, ...] = ()
    stacks: tuple[StackGroup, ...] = ()
    profiles: tuple[Profiled, ...] = ()

    @property
    def job(self) -> str | None:
        """Return the first of the jobs, None for a cluster-wide incident without one."""
        return self.jobs[0] if self.jobs else None

    def document(self) -> dict[str, Any]:
        """Return the incident document, ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "id": self.id,
            "job": self.job,
            "jobs": list(self.jobs),
            "attempt": self.attempt,
            "cluster": self.cluster,
            "status": self.status,
            "severity": self.severity,
            "opened_at": rfc3339(self.opened_at),
            "detected_at": rfc3339(self.detected_at),
            "updated_at": rfc3339(self.updated_at),
            "resolved_at": None if self.resolved_at is None else rfc3339(self.resolved_at),
            "summary": self.summary,
            "symptoms": [row.document() for row in self.symptoms],
            "root_cause": self.root_cause.document(),
            "impact": self.impact.document(),
            "cause_history": [row.document() for row in self.cause_history],
            "timeline": [row.document() for row in self.timeline],
            "handling": self.handling.document(),
            # Few incidents have them: the others' documents are as they were before.
            **({"stacks": [row.document() for row in self.stacks]} if self.stacks else {}),
            **({"profiles": [row.document() for row in self.profiles]} if self.profiles else {}),
        }
