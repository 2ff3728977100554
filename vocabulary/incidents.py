"""The incident document: the values are its shapes.

Field names are fixed. Times are seconds since the epoch here, RFC 3339 in the document.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from .counterfactuals import StepCounterfactual
from .entities import Entity, WrittenRanks
from .faults import ONE_OF_ALL, Severity
from .handling import IncidentHandling
from .ids import Fault, IncidentId
from .inspection import IncidentProfile, StackGroup
from .ranks import RankSet
from .shapes import (
    Count,
    DocumentShape,
    FieldPresence,
    Figure,
    JsonType,
    MaybeFigure,
    Reading,
    Time,
)
from .times import week_name

SCHEMA_VERSION: Literal["1.0"] = "1.0"

Status = Literal["open", "acknowledged", "resolved"]
CauseStatus = Literal["provisional", "stable", "confirmed"]
Confidence = Literal["low", "medium", "high"]
CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")
Happening = Literal[
    "incident.opened", "incident.updated", "incident.acknowledged", "incident.resolved"
]
"""What a receiver is notified about."""
Relation = Literal["supports", "contradicts", "missing"]

_FaultId = Annotated[Fault, ONE_OF_ALL]


@dataclass(frozen=True, slots=True)
class Symptom(DocumentShape):
    """What the job shows, whatever the cause; `ranks` are those that stand out in it."""

    kind: str
    entity: Entity
    onset: Time
    magnitude: MaybeFigure
    detector: str
    text: str
    ranks: WrittenRanks = field(default_factory=RankSet)


@dataclass(frozen=True, slots=True)
class Evidence(DocumentShape):
    """One term of a hypothesis' score, in log-odds."""

    relation: Relation
    family: str
    entity: Entity
    signal: str
    window: tuple[Time, Time]
    observed: Reading
    expected: Reading
    weight: Figure
    text: str
    kind: Annotated[str, FieldPresence.INTERNAL] = ""
    """That of the finding it rests on, "" where it is none."""
    quality: Annotated[Literal["", "claimed"], FieldPresence.FILLED] = ""
    """claimed: a process says it of others, or of itself, and nobody could check."""


@dataclass(frozen=True, slots=True)
class RecommendedAction(DocumentShape):
    """An action."""

    when: Literal["now", "investigate"]
    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Hypothesis(DocumentShape):
    """A candidate cause; rank 1 is the answer."""

    rank: Annotated[int, JsonType({"minimum": 1})]
    fault: _FaultId
    entity: Entity
    score: Figure
    """In log-odds, the sum of every term."""
    probability: Annotated[Figure | None, JsonType({"minimum": 0, "maximum": 1})]
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    actions: tuple[RecommendedAction, ...]
    runbook: str


@dataclass(frozen=True, slots=True)
class UnknownScore(DocumentShape):
    """The score of "none of the hypotheses", and why it is not lower."""

    score: Figure
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NextCheck(DocumentShape):
    """The cheapest check that separates hypotheses."""

    text: str
    command: str
    separates: tuple[_FaultId, ...]


@dataclass(frozen=True, slots=True)
class DataQuality(DocumentShape):
    """Which of the signals that the causes predict were reported, and how well clocks agree."""

    missing: tuple[str, ...]
    clock_skew_seconds: MaybeFigure
    coverage: MaybeFigure


@dataclass(frozen=True, slots=True)
class RootCause(DocumentShape):
    """The ranked causes."""

    status: CauseStatus
    engine: str
    catalogue: str
    hypotheses: tuple[Hypothesis, ...]
    unknown: UnknownScore
    next_checks: tuple[NextCheck, ...]
    data_quality: DataQuality


@dataclass(frozen=True, slots=True)
class WeeklyLoss(DocumentShape):
    """What the incident took of one job in one ISO week."""

    job: str
    week: Annotated[int, JsonType({"type": "string"}, week_name)]
    """By its Monday 00:00 UTC, in seconds since the epoch; in the document by its name."""
    gpu_seconds_lost: Figure


@dataclass(frozen=True, slots=True)
class Impact(DocumentShape):
    """What the incident costs. The blast radius: ranks on nodes of jobs; some are at the cause.

    What incidents of one job lose together is divided among them: their sum is what the job lost.
    """

    # `ranks_at_cause` are placed on the entity of the first cause and the others that it names, the
    # rest is held up by them.
    ranks: Count
    nodes: Count
    slowdown: Figure | None
    """A ratio to the healthy step time, None where the job is stopped."""
    gpu_seconds_lost: Figure
    gpu_hours_lost: Annotated[Figure, FieldPresence.OPTIONAL] = field(init=False)
    jobs: Annotated[Count, FieldPresence.OPTIONAL] = 1
    ranks_at_cause: Annotated[Count, FieldPresence.OPTIONAL] = 0
    lost: Annotated[tuple[WeeklyLoss, ...], FieldPresence.OPTIONAL] = ()
    """`gpu_seconds_lost` by job and week."""
    counterfactual: Annotated[StepCounterfactual | None, FieldPresence.OPTIONAL] = None
    """The step time without the cause; None where nothing says it, and where the job is stopped."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpu_hours_lost", self.gpu_seconds_lost / 3600)


@dataclass(frozen=True, slots=True)
class CauseChange(DocumentShape):
    """A first cause that the incident had from `at` on, and why it was named then."""

    at: Time
    status: CauseStatus
    fault: _FaultId
    entity: Entity
    confidence: Confidence
    score: Figure
    why: str


@dataclass(frozen=True, slots=True)
class TimelineMoment(DocumentShape):
    """One entry of a timeline."""

    at: Time
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident(DocumentShape):
    """The incident document, with what people did."""

    schema_version: Literal["1.0"] = field(init=False, default=SCHEMA_VERSION)
    id: Annotated[IncidentId, JsonType({"type": "string", "pattern": "^[0-9a-f]{16,64}$"})]
    job: str | None = field(init=False)
    """The first of the jobs, None for a cluster-wide incident without one."""
    jobs: tuple[str, ...]
    attempt: Count
    cluster: str | None
    status: Status
    severity: Severity
    opened_at: Time
    detected_at: Time
    updated_at: Time
    resolved_at: Time | None
    summary: str
    symptoms: Annotated[tuple[Symptom, ...], JsonType({"minItems": 1})]
    root_cause: RootCause
    impact: Impact
    cause_history: Annotated[tuple[CauseChange, ...], FieldPresence.OPTIONAL] = ()
    timeline: tuple[TimelineMoment, ...] = ()
    handling: IncidentHandling = field(default_factory=IncidentHandling)
    # Few incidents have these.
    stacks: Annotated[tuple[StackGroup, ...], FieldPresence.FILLED] = ()
    profiles: Annotated[tuple[IncidentProfile, ...], FieldPresence.FILLED] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "job", self.jobs[0] if self.jobs else None)
