"""The past: who did what, and what keeps coming back."""

from dataclasses import dataclass
from typing import Any

from ..shapes import DocumentShape


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry(DocumentShape):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDocument(DocumentShape):
    """A page of the audit trail, the newest first."""

    items: list[AuditEntry]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDocument(DocumentShape):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OffenderDocument(DocumentShape):
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
    record: list[NamedDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffendersDocument(DocumentShape):
    """A page of offenders: those named in most jobs first, then in most incidents."""

    items: list[OffenderDocument]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarIncident(DocumentShape):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarIncidents(DocumentShape):
    """Past incidents, the most alike first."""

    items: list[SimilarIncident]
    next_cursor: str | None
