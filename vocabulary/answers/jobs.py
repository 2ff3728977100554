"""The jobs that are watched, their ranks and series."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from ..shapes import DocumentShape, FieldPresence, JsonType, OptionalText


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDocument(DocumentShape):
    """A job, its newest attempt. What is not known is null.

    `step_seconds` is the recent median. `goodput` is the share of GPU time that incidents left.
    `incidents` are those not yet resolved, `user` is the label that its telemetry carries.
    `status`: running while anything of it is received, ended after a minute without.
    """

    job: str
    status: Annotated[
        Literal["running", "ended"], JsonType({"default": "ended"}), FieldPresence.OPTIONAL
    ] = "ended"
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
    user: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsDocument(DocumentShape):
    """Every job that is watched now or had an incident."""

    items: list[JobDocument]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankDocument(DocumentShape):
    """A rank of a job's newest attempt; `progress_age` in seconds since its last step ended."""

    rank: int
    local_rank: int | None
    host: str | None
    pid: int | None
    hw_id: str | None
    last_step: int | None
    progress_age: float | None
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksDocument(DocumentShape):
    """The ranks of a job, by number."""

    items: list[RankDocument]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSeries(DocumentShape):
    """One series: its points, [[at, value]]; rank null: a series of a host.

    `attributes` tell apart the series of one metric on the same rank or host ({"scope": "local"},
    {"domain": "sm"}); a host's series has `host.name`. A value that is no JSON number is one of the
    words NaN, Inf and -Inf; where nothing was reported there is no point.
    """

    rank: int | None
    attributes: dict[str, str]
    points: list[tuple[str, float | str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesDocument(DocumentShape):
    """A metric over time. `every`: only each so many-th point is here, 1 for all of them."""

    metric: str
    unit: str | None
    series: list[RankSeries]
    every: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyDocument(DocumentShape):
    """The topology of a job: nodes are entities, edges their relations."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetDocument(DocumentShape):
    """Agents in the form of Prometheus' http_sd."""

    targets: list[str]
    labels: dict[str, str]
