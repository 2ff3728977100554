"""The incident document as OpenAPI shows it.

`vocabulary/incident_schema.py` is the document's own schema; a test holds the two together.
Consumers accept added fields, and so do these shapes.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ...vocabulary.entities import EntityType
from ...vocabulary.faults import Severity
from ...vocabulary.incidents import CauseStatus, Confidence, Relation, Status


class Open(BaseModel):
    """A shape that may gain fields."""

    model_config = ConfigDict(extra="allow")


class Entity(Open):
    """One thing that an incident points at.

    `ranks` are numbers and, beyond a few of them, ranges "0-1016:8" (both ends included, with a
    stride where it is not 1).
    """

    type: EntityType
    id: str
    host: str | None
    ranks: list[int | str]


class Symptom(Open):
    """What the job shows, whatever the cause; `ranks` are those that stand out in it."""

    kind: str
    entity: Entity
    onset: str
    magnitude: float | None
    detector: str
    text: str
    ranks: list[int | str]


class Evidence(Open):
    """One term of a hypothesis' score, in log-odds."""

    relation: Relation
    family: str
    entity: Entity
    signal: str
    window: tuple[str, str]
    observed: float | str | None
    expected: float | str | None
    weight: float | None
    text: str


class Step(Open):
    """An action."""

    when: Literal["now", "investigate"]
    text: str
    command: str


class Hypothesis(Open):
    """A candidate cause; rank 1 is the answer."""

    rank: int
    fault: str
    entity: Entity
    score: float | None
    probability: float | None
    confidence: Confidence
    evidence: list[Evidence]
    actions: list[Step]
    runbook: str


class Unknown(Open):
    """The score of "none of the hypotheses", and why it is not lower."""

    score: float | None
    reasons: list[str]


class NextCheck(Open):
    """The cheapest check that separates hypotheses."""

    text: str
    command: str
    separates: list[str]


class DataQuality(Open):
    """Which of the signals that the causes predict were reported, and how well clocks agree."""

    missing: list[str]
    clock_skew_seconds: float | None
    coverage: float | None


class RootCause(Open):
    """The ranked causes."""

    status: CauseStatus
    engine: str
    catalogue: str
    hypotheses: list[Hypothesis]
    unknown: Unknown
    next_checks: list[NextCheck]
    data_quality: DataQuality


class Lost(Open):
    """What the incident took of one job in one ISO week."""

    job: str
    week: str
    gpu_seconds_lost: float


class Impact(Open):
    """What the incident costs. The blast radius: ranks on nodes of jobs; some are at the cause.

    What incidents of one job lose together is divided among them: their sum is what the job lost.
    """

    ranks: int
    nodes: int
    slowdown: float | None
    gpu_seconds_lost: float | None
    gpu_hours_lost: float | None = None
    jobs: int | None = None
    ranks_at_cause: int | None = None
    lost: list[Lost] = Field(default_factory=list)


class CauseChange(Open):
    """A first cause that the incident had from `at` on, and why it was named then."""

    at: str
    status: CauseStatus
    fault: str
    entity: Entity
    confidence: Confidence
    score: float | None
    why: str


class Moment(Open):
    """One entry of a timeline."""

    at: str
    kind: str
    text: str


class Handled(BaseModel):
    """That a person acknowledged or resolved an incident."""

    at: str
    by: str
    note: str


class Feedback(BaseModel):
    """What a person said about the first cause; `fault` and `entity` are what it really was."""

    at: str
    by: str
    verdict: Literal["correct", "wrong", "unsure"]
    fault: str | None
    entity: str | None
    note: str


class Handling(BaseModel):
    """What people did about an incident."""

    acknowledged: Handled | None
    assignee: str | None
    resolved: Handled | None
    feedback: list[Feedback]


class StackGroup(Open):
    """Ranks with the same Python stack while nothing goes on; `odd`: most others stand elsewhere.

    `text` has a line a call, the outermost first; `count` is how many ranks there are.
    """

    ranks: list[int | str]
    count: int
    odd: bool
    text: str


class Amount(Open):
    """How often in a step, and for how many seconds of it."""

    count: float
    seconds: float


class ProfileRow(Open):
    """One line of a profile's table, per step; `name` is "" for all of a kind."""

    kind: str
    name: str
    suspect: Amount
    peer: Amount
    difference_seconds: float


class Profiled(Open):
    """A profile of a suspect and a healthy peer; `traces` are paths of this API.

    `per`: what the figures are of: step, or second where a trace does not count steps.
    """

    at: str
    id: str
    text: str
    per: str = "step"
    suspect: int | None
    peer: int | None
    rows: list[ProfileRow]
    traces: list[str]


class Incident(Open):
    """The incident document, with what people did."""

    schema_version: str
    id: str
    job: str | None
    jobs: list[str]
    attempt: int
    cluster: str | None
    status: Status
    severity: Severity
    opened_at: str
    detected_at: str
    updated_at: str
    resolved_at: str | None
    summary: str
    symptoms: list[Symptom]
    root_cause: RootCause
    impact: Impact
    cause_history: list[CauseChange] = Field(default_factory=list)
    timeline: list[Moment]
    handling: Handling
    stacks: list[StackGroup] = Field(default_factory=list)
    profiles: list[Profiled] = Field(default_factory=list)


class Incidents(BaseModel):
    """A page of incidents, the newest onset first."""

    items: list[Incident]
    next_cursor: str | None


class TimeRange(BaseModel):
    """From when to when an answer holds: what was asked for, as far as it is held."""

    model_config = ConfigDict(populate_by_name=True)

    from_: str = Field(alias="from")
    to: str


class BriefIncident(Open):
    """An incident in a few fields."""

    id: str
    fault: str
    entity: Entity | None
    severity: str
    opened_at: str
    resolved_at: str | None
    summary: str


class PastIncident(Open):
    """The document of an incident, as reading the journal again gave it."""

    id: str
    summary: str


class RangeRootCause(RootCause):
    """The ranked causes of a time range.

    `source`: read from the windows of the last minutes, or from the journal, read again. `incident`
    is then the document of the worst incident that overlaps the range, and `others` are the rest.
    """

    source: Literal["windows", "journal"]
    range: TimeRange
    incident: PastIncident | None
    others: list[BriefIncident]


class Timeline(BaseModel):
    """What happened in an incident, in order, by the machine and by people."""

    items: list[Moment]
    next_cursor: str | None = None
