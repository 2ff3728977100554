"""Times and costs: statistics and show-back reports."""

from dataclasses import dataclass
from typing import Literal

from ..shapes import DocumentShape, OptionalText


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCost(DocumentShape):
    """What one fault took."""

    fault: str
    gpu_hours: float
    incidents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobGoodput(DocumentShape):
    """The share of a job's GPU time that incidents left."""

    job: str
    ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow(DocumentShape):
    """What one group adds up to; the keys that the report is not by are null.

    An incident counts in the ISO week of its onset, and for its first job; `user` is empty for jobs
    without a label. `gpu_hours_used` and `goodput` are null by fault. `gpu_hours_gained`: what
    would not have been lost without the causes, with its 90 % interval, of incidents of which steps
    were measured; null where none were.
    """

    week: OptionalText = None
    user: OptionalText = None
    job: OptionalText = None
    fault: OptionalText = None
    gpu_hours_used: float | None
    gpu_hours_lost: float
    goodput: float | None
    incidents: int
    mttd_seconds: float | None
    mtta_seconds: float | None
    mttr_seconds: float | None
    costliest_fault: str | None
    gpu_hours_gained: float | None
    gpu_hours_gained_low: float | None
    gpu_hours_gained_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDocument(DocumentShape):
    """A page of a report, in the order of its keys."""

    items: list[ReportRow]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsDocument(DocumentShape):
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
