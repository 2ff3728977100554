"""What the alerts package gives to a store and needs of it: somebody else decides where rows live.

A change (`StorableChange`) and what is to be sent about it (`NoticeOutbox`) are kept in one
transaction by whoever implements them, so that no change is stored and not sent, or sent twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, get_args

from ..vocabulary.faults import Severity
from ..vocabulary.incidents import Confidence, Happening, Incident

HAPPENINGS: tuple[Happening, ...] = get_args(Happening)


class StorableChange(Protocol):
    """One change that the lifecycle decided on. `notify`: it is worth a notice."""

    @property
    def kind(self) -> Happening: ...

    @property
    def incident(self) -> Incident:
        """Return the incident after the change."""
        ...

    @property
    def notify(self) -> bool:
        """Return whether people are notified of it."""
        ...


@dataclass(frozen=True, slots=True)
class OutboxNotice:
    """What is reported: a happening, its time (seconds since the epoch) and what it is about.

    `type` is a happening with an incident document as `data`, "webhook.test", or one of the two
    that stand for several messages: "digest" and "state" (see `notify/traits.py` for their data).
    `id` is the same at every attempt: receivers drop what they have seen. `console` is the address
    of the console, empty where none is configured. `stands_for`: so many messages, the oldest of
    them written at `since`.
    """

    type: str
    at: float
    data: dict[str, Any]
    id: str = ""
    console: str = ""
    stands_for: int = 1
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class HttpPost:
    """One HTTP POST."""

    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class NotifiedEndpoint:
    """Somebody who wants to be notified.

    `events` are the happenings wanted, `jobs` patterns of job ids (empty: all), `severities` the
    severities wanted. `not_before`: nothing is sent until then (seconds since the epoch).
    `per_minute`: the most messages in a minute, None for what the format says.

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
    per_minute: int | None = None
    faults: tuple[str, ...] = ()
    min_probability: float | None = None
    min_confidence: Confidence | None = None

    @property
    def subscribes(self) -> bool:
        """Return whether it wants incidents of some causes only, rather than every incident."""
        return bool(self.faults) or self.min_probability is not None or bool(self.min_confidence)


@dataclass(frozen=True, slots=True)
class OutboxDelivery:
    """One message to one endpoint; its notice's id is the same over all attempts.

    It may stand for several rows of the outbox: those up to `number` that carry `carrier`, or only
    row `number` where `carrier` is None. `attempts` so far; `incident` is empty when it is about
    several.
    """

    number: int
    notice: OutboxNotice
    incident: str
    attempts: int
    carrier: str | None = None

    @property
    def webhook_id(self) -> str:
        """Return the id under which receivers get it."""
        return self.notice.id

    @property
    def type(self) -> str:
        """Return what it reports."""
        return self.notice.type


UNAVAILABLE = (408, 429, 502, 503, 504)
"""Answers that speak of the receiver's state and not of the message."""
GONE = 410


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """How one attempt ended: the HTTP status, or None and what went wrong before there was one.

    `error` is None where the receiver took the message. `retry_after` is in seconds, as the
    receiver asked. `busy`: the receiver, not the message, is why it failed; `gone`: it wants no
    more messages. A status that says so needs neither. `unwritten`: there was no attempt, for the
    message could not be written.
    """

    status: int | None
    error: str | None = None
    retry_after: float | None = None
    busy: bool = False
    gone: bool = False
    unwritten: bool = False

    @property
    def accepted(self) -> bool:
        """Return whether the receiver took it: a 2xx without an error in its body."""
        return self.error is None and self.status is not None and 200 <= self.status < 300

    @property
    def unavailable(self) -> bool:
        """Return whether any other message would have failed as well."""
        if self.status is None:
            return not self.unwritten
        return self.busy or self.status in UNAVAILABLE

    @property
    def disabled(self) -> bool:
        """Return whether the receiver wants no more messages."""
        return self.gone or self.status == GONE


class NoticeOutbox(Protocol):
    """What is still to be sent, and to whom."""

    def waiting(self, now: float) -> Sequence[str]:
        """Return the ids of endpoints for which something is due."""
        ...

    def next_delivery(
        self, endpoint: str, now: float
    ) -> tuple[NotifiedEndpoint, OutboxDelivery] | None:
        """Return the next message, None when nothing is due.

        An incident's messages keep their order; a format that folds gets one for all that wait.
        """
        ...

    def delivered(
        self, endpoint: str, delivery: OutboxDelivery, outcome: DeliveryOutcome, now: float
    ) -> None:
        """Mark a message as taken, and what waits for an endpoint that is back as due."""
        ...

    def failed(
        self,
        endpoint: str,
        delivery: OutboxDelivery,
        outcome: DeliveryOutcome,
        *,
        due_at: float | None,
        now: float,
    ) -> None:
        """Mark a failed attempt: due again at `due_at`, or given up (None).

        Where the receiver is unavailable the attempt stands for every message that was due.
        """
        ...

    def gone(
        self, endpoint: str, delivery: OutboxDelivery, outcome: DeliveryOutcome, now: float
    ) -> None:
        """Disable an endpoint that said it is gone, and give up what waits for it."""
        ...
