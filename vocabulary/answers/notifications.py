"""Who is notified, what was delivered, and what holds deliveries back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..faults import Severity
from ..incidents import Confidence, Happening
from ..shapes import DocumentShape, OptionalText, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class MatcherDocument(DocumentShape):
    """One condition of a silence."""

    name: str
    patterns: list[str]
    negate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceDocument(DocumentShape):
    """Holds deliveries back whose incident fits every matcher."""

    id: str
    state: Literal["pending", "active", "expired"]
    matchers: list[MatcherDocument]
    starts_at: str
    ends_at: str
    author: str
    comment: str
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SilencesDocument(DocumentShape):
    """All silences, the newest first."""

    items: list[SilenceDocument]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceDocument(DocumentShape):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenancesDocument(DocumentShape):
    """All maintenance windows, the newest first."""

    items: list[MaintenanceDocument]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDocument(DocumentShape):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedWebhook(WebhookDocument):
    """An endpoint just made; `secret` is shown this once, and only if it was made here."""

    secret: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksDocument(DocumentShape):
    """Endpoints, the oldest first."""

    items: list[WebhookDocument]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedDocument(DocumentShape):
    """The outcome of a test message."""

    delivered: bool
    webhook_id: str
    status: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDocument(DocumentShape):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveriesDocument(DocumentShape):
    """Messages of an endpoint, the newest first."""

    items: list[DeliveryDocument]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedDocument(DocumentShape):
    """How many messages are sent again."""

    replayed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDocument(DocumentShape):
    """What an endpoint and a stream of events receive; `data` is an incident document.

    `type`: what happened to it.
    """

    type: str
    timestamp: Time
    data: Mapping[str, Any]
