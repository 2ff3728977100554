"""The incident document of section 5 of the contract, as frozen values and as JSON-ready objects.

Field names are the contract's. Times are seconds since the epoch here, RFC 3339 in the document.
Numbers are rounded to six significant digits in the document, so that a replay on another machine
prints the same bytes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .entities import Entity
from .faults import Severity
from .ids import Fault, IncidentId
from .ranks import Ranks
from .times import rfc3339, week_name

SCHEMA_VERSION = "1.0"

Status = Literal["open", "acknowledged", "resolved"]
CauseStatus = Literal["provisional", "stable", "confirmed"]
Confidence = Literal["low", "medium", "high"]
CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")
Relation = Literal["supports", "contradicts", "missing"]


def number(value: float | None) -> float | None:
    """Return a number fit for JSON: six significant digits, None for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def shown(value: float | str | None) -> float | str | None:
    """Return an observed or expected value for JSON; NaN and Inf as the words NaN, Inf, -Inf."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Inf" if value > 0 else "-Inf")
    return number(value) if isinstance(value, int | float) else value


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
class Handled:
    """Something that a person did, and when (seconds since the epoch)."""

    at: float
    by: str
    note: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {"at": rfc3339(self.at), "by": self.by, "note": self.note}


@dataclass(frozen=True, slots=True)
class Feedback:
    """Whether the first cause was right; `fault` and `entity` are what it really was."""

    at: float
    by: str
    verdict: Literal["correct", "wrong", "unsure"]
    fault: str | None = None
    entity: str | None = None
    note: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "at": rfc3339(self.at),
            "by": self.by,
            "verdict": self.verdict,
            "fault": self.fault,
            "entity": self.entity,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Handling:
    """What people did about an incident."""

    acknowledged: Handled | None = None
    assignee: str | None = None
    resolved: Handled | None = None
    feedback: tuple[Feedback, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "acknowledged": None if self.acknowledged is None else self.acknowledged.document(),
            "assignee": self.assignee,
            "resolved": None if self.resolved is None else self.resolved.document(),
            "feedback": [row.document() for row in self.feedback],
        }


@dataclass(frozen=True, slots=True)
class StackGroup:
    """Ranks whose Python stacks are the same while nothing goes on, one line a call.

    `text` has the outermost call first. `odd`: most other ranks stand elsewhere; these are what
    to look at.
    """

    ranks: Ranks
    text: str
    odd: bool = False

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "ranks": self.ranks.document(),
            "count": len(self.ranks),
            "odd": self.odd,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One line of a profile's table, per step (or second); `name` is "" for all of a kind.

    `suspect` and `peer` are (how often, seconds).
    """

    kind: str
    name: str
    suspect: tuple[float, float]
    peer: tuple[float, float]

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "kind": self.kind,
            "name": self.name,
            "suspect": {"count": number(self.suspect[0]), "seconds": number(self.suspect[1])},
            "peer": {"count": number(self.peer[0]), "seconds": number(self.peer[1])},
            "difference_seconds": number(self.suspect[1] - self.peer[1]),
        }


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile of a suspect beside a healthy peer, made for an incident.

    `traces` are paths of the collector's API, one a rank that sent a trace. `per`: what the figures
    are of, a step or a second.
    """

    at: float
    id: str
    text: str
    suspect: int | None
    peer: int | None
    rows: tuple[ProfileRow, ...] = ()
    traces: tuple[str, ...] = ()
    per: str = "step"

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "at": rfc3339(self.at),
            "id": self.id,
            "text": self.text,
            "per": self.per,
            "suspect": self.suspect,
            "peer": self.peer,
            "rows": [row.document() for row in self.rows],
            "traces": list(self.traces),
        }

    def detail(self) -> dict[str, Any]:
        """Return what an action carries, all but its time."""
        rows = [[row.kind, row.name, *row.suspect, *row.peer] for row in self.rows]
        return {
            "id": self.id,
            "text": self.text,
            "suspect": self.suspect,
            "peer": self.peer,
            "rows": rows,
            "traces": list(self.traces),
            "per": self.per,
        }

    @classmethod
    def parse(cls, at: float, detail: Mapping[str, Any]) -> "Profiled":
        """Return what an action carries; what is missing is left empty."""
        return cls(
            at=at,
            id=str(detail.get("id", "")),
            text=str(detail.get("text", "")),
            suspect=detail.get("suspect"),
            peer=detail.get("peer"),
            rows=tuple(
                ProfileRow(str(kind), str(name), (count, seconds), (others, other))
                for kind, name, count, seconds, others, other in detail.get("rows", ())
            ),
            traces=tuple(map(str, detail.get("traces", ()))),
            per="second" if detail.get("per") == "second" else "step",
        )


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
        """Return the incident document of section 5 of the contract, ready for JSON."""
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
