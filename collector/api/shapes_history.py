"""What the API answers with about the past: who did what, offenders, similar incidents, reports."""

from typing import Any

from pydantic import BaseModel


class AuditEntry(BaseModel):
    """One human action; `token` is the name of the token in the settings, empty without one.

    `subject` is the id of what it concerns: an incident, a silence, a webhook.
    """

    id: str
    at: str
    token: str
    by: str
    action: str
    subject: str
    details: dict[str, Any]


class Audit(BaseModel):
    """A page of the audit trail, the newest first."""

    items: list[AuditEntry]
    next_cursor: str | None


class ReportRow(BaseModel):
    """What one group adds up to; the keys that the report is not by are null.

    An incident counts in the ISO week of its onset, and for its first job; `user` is empty for jobs
    without a label. `gpu_hours_used` and `goodput` are null by fault.
    """

    week: str | None = None
    user: str | None = None
    job: str | None = None
    fault: str | None = None
    gpu_hours_used: float | None
    gpu_hours_lost: float
    goodput: float | None
    incidents: int
    mttd_seconds: float | None
    mtta_seconds: float | None
    mttr_seconds: float | None
    costliest_fault: str | None


class Report(BaseModel):
    """A page of a report, in the order of its keys."""

    items: list[ReportRow]
    next_cursor: str | None


class Named(BaseModel):
    """An incident whose first cause names an entity, or what is attached to it."""

    incident: str
    jobs: list[str]
    fault: str
    entity_type: str
    entity: str
    severity: str
    status: str
    opened_at: str
    gpu_hours_lost: float
    verdict: str | None


class Offender(BaseModel):
    """A device, link, node, switch or storage that incidents keep naming; `faults` by frequency.

    `confirmed`: in so many of them a person said that the cause was right; those of which somebody
    said that it was wrong do not count. `record` has the newest 50.
    """

    type: str
    id: str
    host: str | None
    incidents: int
    jobs: list[str]
    faults: dict[str, int]
    gpu_hours_lost: float
    first_at: str
    last_at: str
    confirmed: int
    record: list[Named]


class Offenders(BaseModel):
    """A page of offenders: those named in most jobs first, then in most incidents."""

    items: list[Offender]
    next_cursor: str | None


class SimilarIncident(BaseModel):
    """A past incident like the one asked about, in what, and what people said of it."""

    id: str
    likeness: float
    reasons: list[str]
    jobs: list[str]
    fault: str | None
    entity: dict[str, Any] | None
    status: str
    severity: str
    opened_at: str
    resolved_at: str | None
    summary: str
    gpu_hours_lost: float
    feedback: list[dict[str, Any]]
    resolved: dict[str, Any] | None


class SimilarIncidents(BaseModel):
    """Past incidents, the most alike first."""

    items: list[SimilarIncident]
    next_cursor: str | None
