"""What the API answers with, other than incidents; times are RFC 3339 in UTC."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ...alerts.ports import Happening
from ...vocabulary.faults import Severity
from ...vocabulary.incidents import Confidence
from .shapes_history import ReportRow


class Problem(BaseModel):
    """An error (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str


class Job(BaseModel):
    """A job, its newest attempt. What is not known is null.

    `step_seconds` is the recent median. `goodput` is the share of GPU time that incidents left.
    `incidents` are those not yet resolved, `user` is the label that its telemetry carries.
    """

    job: str
    attempt: int | None
    cluster: str | None
    first_at: str | None
    last_at: str | None
    world_size: int | None
    hosts: list[str]
    ranks: int | None
    last_step: int | None
    step_seconds: float | None
    goodput: float | None
    incidents: int
    user: str | None = None


class Jobs(BaseModel):
    """Every job that is watched now or had an incident."""

    items: list[Job]
    next_cursor: str | None = None


class Rank(BaseModel):
    """A rank of a job's newest attempt; `progress_age` in seconds since its last step ended."""

    rank: int
    local_rank: int | None
    host: str | None
    pid: int | None
    hw_id: str | None
    last_step: int | None
    progress_age: float | None
    attempt: int


class Ranks(BaseModel):
    """The ranks of a job, by number."""

    items: list[Rank]
    next_cursor: str | None = None


class RankSeries(BaseModel):
    """One series: its points, [[at, value]]; rank null: a series of a host.

    `attributes` tell apart the series of one metric on the same rank or host ({"scope": "local"},
    {"domain": "sm"}); a host's series has `host.name`. A value that is no JSON number is one of the
    words NaN, Inf and -Inf; where nothing was reported there is no point.
    """

    rank: int | None
    attributes: dict[str, str]
    points: list[tuple[str, float | str]]


class Series(BaseModel):
    """A metric over time. `every`: only each so many-th point is here, 1 for all of them."""

    metric: str
    unit: str | None
    series: list[RankSeries]
    every: int


class Topology(BaseModel):
    """The topology of a job: nodes are entities, edges their relations."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]


class FaultCost(BaseModel):
    """What one fault took."""

    fault: str
    gpu_hours: float
    incidents: int


class JobGoodput(BaseModel):
    """The share of a job's GPU time that incidents left."""

    job: str
    ratio: float | None


class Stats(BaseModel):
    """Times are means in seconds, null where nothing has happened yet.

    `mttd_seconds` from onset to first report, `mtta_seconds` from report to acknowledgement,
    `mttr_seconds` from onset to resolution. by_fault, by_job, by_user, by_week: the same of each
    cause, job, user label and ISO week, with GPU hours used and lost.
    """

    since: str | None
    until: str | None
    incidents: dict[Literal["open", "acknowledged", "resolved"], int]
    mttd_seconds: float | None
    mtta_seconds: float | None
    mttr_seconds: float | None
    goodput: list[JobGoodput]
    gpu_hours_lost: float
    lost_by_fault: list[FaultCost]
    by_fault: list[ReportRow]
    by_job: list[ReportRow]
    by_user: list[ReportRow]
    by_week: list[ReportRow]


class Target(BaseModel):
    """Agents in the form of Prometheus' http_sd."""

    targets: list[str]
    labels: dict[str, str]


class Matcher(BaseModel):
    """One condition of a silence."""

    name: str
    patterns: list[str]
    negate: bool


class Silence(BaseModel):
    """Holds deliveries back whose incident fits every matcher."""

    id: str
    state: Literal["pending", "active", "expired"]
    matchers: list[Matcher]
    starts_at: str
    ends_at: str
    author: str
    comment: str
    created_at: str


class Silences(BaseModel):
    """All silences, the newest first."""

    items: list[Silence]
    next_cursor: str | None = None


class Maintenance(BaseModel):
    """Holds deliveries back that concern these hosts and jobs."""

    id: str
    state: Literal["pending", "active", "expired"]
    hosts: list[str]
    jobs: list[str]
    starts_at: str
    ends_at: str
    author: str
    comment: str
    created_at: str


class Maintenances(BaseModel):
    """All maintenance windows, the newest first."""

    items: list[Maintenance]
    next_cursor: str | None = None


class Webhook(BaseModel):
    """An endpoint that is notified. What in its address may be secret is shown as ***.

    `per_minute`: the most messages in a minute, more are folded; null: every change is a message.
    `faults`, `min_probability` and `min_confidence`: which first causes it subscribes to; empty
    and null: any incident.
    """

    id: str
    url: str
    format: str
    per_minute: int | None
    events: list[Happening]
    jobs: list[str]
    severities: list[Severity]
    faults: list[str]
    min_probability: float | None
    min_confidence: Confidence | None
    enabled: bool
    disabled_reason: str | None
    origin: Literal["settings", "api"]
    created_at: str


class CreatedWebhook(Webhook):
    """An endpoint just made; `secret` is shown this once, and only if it was made here."""

    secret: str | None = None


class Webhooks(BaseModel):
    """Endpoints, the oldest first."""

    items: list[Webhook]
    next_cursor: str | None


class Tested(BaseModel):
    """The outcome of a test message."""

    delivered: bool
    webhook_id: str
    status: int | None
    error: str | None


class Delivery(BaseModel):
    """One message and its delivery state."""

    webhook_id: str
    incident: str
    type: str
    state: Literal["pending", "delivered", "dead", "suppressed"]
    created_at: str
    due_at: str
    finished_at: str | None
    attempts: int
    last_status: int | None
    last_error: str | None


class Deliveries(BaseModel):
    """Messages of an endpoint, the newest first."""

    items: list[Delivery]
    next_cursor: str | None


class Replayed(BaseModel):
    """How many messages are sent again."""

    replayed: int


class Session(BaseModel):
    """Whom the collector takes the caller for.

    `jobs` are the patterns that the token is limited to, empty: none. Without any token configured
    everybody on this machine is admin, and `token_required` is false.
    """

    role: Literal["ingest", "read", "admin"]
    name: str
    jobs: list[str]
    token_required: bool


class Health(BaseModel):
    """That the process runs, and its version."""

    status: Literal["ok"]
    version: str


class Readiness(Health):
    """That telemetry is taken, and what else an operator has to see to."""

    warnings: list[str]
