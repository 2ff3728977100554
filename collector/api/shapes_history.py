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
