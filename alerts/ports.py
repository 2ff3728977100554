"""What the alerts package needs of a store, as protocols: somebody else decides where rows live.

`IncidentStore` keeps what evaluation decided, `Outbox` what is still to be sent. Both are kept
in one transaction by whoever implements them, so that no change is stored and not sent, or
sent twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ..vocabulary.faults import Severity
from ..vocabulary.incidents import Confidence, Incident

Happening = Literal[
    "incident.opened", "incident.updated", "incident.acknowledged", "incident.resolved"
]
"""What a receiver is notified about; the second and third word of section 7 of the contract."""

HAPPENINGS: tuple[Happening, ...] = (
    "incident.opened",
    "incident.updated",
    "incident.acknowledged",
    "incident.resolved",
)


class IncidentChange(Protocol):
    """One change that the lifecycle decided on. `notify`: it is worth a notice."""

    @property
    def kind(self) -> Happening:
        """Return what happened."""
        ...

    @property
    def incident(self) -> Incident:
        """Return the incident after the change."""
        ...

    @property
    def notify(self) -> bool:
        """Return whether people are notified of it."""
        ...


class IncidentStore(Protocol):
    """Where incidents are kept."""

    def commit(self, changes: Sequence[IncidentChange], now: float) -> None:
        """Keep the changes and what is to be sent about them, all or nothing.

        Each only once.
        """
        ...


@dataclass(frozen=True, slots=True)
class Notice:
    """What is reported: a happening, its time (seconds since the epoch) and what it is about."""

    type: str
    at: float
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Somebody who wants to be notified.

    `events` are the happenings wanted, `jobs` patterns of job ids (empty: all), `severities` the
    severities wanted. `not_before`: the receiver asked for quiet until then (seconds since epoch).

    One that subscribes to causes sets `faults` (patterns of fault ids), `min_probability` (0 to 1)
    or `min_confidence`, which holds where a cause has no calibrated probability.
    """

    id: str
    url: str
    secret: str
    format: str
    events: tuple[str, ...] = HAPPENINGS
    jobs: tuple[str, ...] = ()
    severities: tuple[Severity, ...] = ("critical", "warning")
    enabled: bool = True
    not_before: float = 0.0
    faults: tuple[str, ...] = ()
    min_probability: float | None = None
    min_confidence: Confidence | None = None

    @property
    def subscribes(self) -> bool:
        """Return whether it wants incidents of some causes only, rather than every incident."""
        return bool(self.faults) or self.min_probability is not None or bool(self.min_confidence)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message of the outbox for one endpoint; `webhook_id` is the same over all attempts."""

    number: int
    webhook_id: str
    incident: str
    type: str
    body: bytes
    attempts: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one attempt ended: the HTTP status, or None and what went wrong before there was one.

    `retry_after` is in seconds, as the receiver asked.
    """

    status: int | None
    error: str | None = None
    retry_after: float | None = None

    @property
    def accepted(self) -> bool:
        """Return whether the receiver took it: any 2xx, and nothing else."""
        return self.status is not None and 200 <= self.status < 300


class Outbox(Protocol):
    """What is still to be sent, and to whom."""

    def waiting(self, now: float) -> Sequence[str]:
        """Return the ids of endpoints for which something is due."""
        ...

    def next_delivery(self, endpoint: str, now: float) -> tuple[Endpoint, Delivery] | None:
        """Return the oldest due message whose incident has no older one pending there."""
        ...

    def delivered(self, endpoint: str, delivery: Delivery, outcome: Outcome, now: float) -> None:
        """Mark a message as taken."""
        ...

    def failed(
        self,
        endpoint: str,
        delivery: Delivery,
        outcome: Outcome,
        *,
        due_at: float | None,
        now: float,
    ) -> None:
        """Mark a failed attempt: due again at `due_at`, or given up (None)."""
        ...

    def gone(self, endpoint: str, delivery: Delivery, outcome: Outcome, now: float) -> None:
        """Disable an endpoint that said it is gone, and give up what waits for it."""
        ...
