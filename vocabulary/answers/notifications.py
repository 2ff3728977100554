"""Who is notified, what was delivered, and what holds deliveries back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..faults import Severity
from ..incidents import Confidence, Happening
from ..shapes import OptionalText, Shape, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class MatcherDocument(Shape):
    """One condition of a silence."""

    name: str
    patterns: list[str]
    negate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceDocument(Shape):
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
class SilencesDocument(Shape):
    """All silences, the newest first."""

    items: list[SilenceDocument]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceDocument(Shape):
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
class MaintenancesDocument(Shape):
    """All maintenance windows, the newest first."""

    items: list[MaintenanceDocument]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDocument(Shape):
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
class WebhooksDocument(Shape):
    """Endpoints, the oldest first."""

    items: list[WebhookDocument]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedDocument(Shape):
    """The outcome of a test message."""

    delivered: bool
    webhook_id: str
    status: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDocument(Shape):
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
class DeliveriesDocument(Shape):
    """Messages of an endpoint, the newest first."""

    items: list[DeliveryDocument]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedDocument(Shape):
    """How many messages are sent again."""

    replayed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDocument(Shape):
    """What an endpoint and a stream of events receive; `data` is an incident document.

    `type`: what happened to it.
    """

    type: str
    timestamp: Time
    data: Mapping[str, Any]
