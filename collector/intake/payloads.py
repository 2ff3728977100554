"""A payload on its way in: the bytes that the journal keeps, and what they decode to."""

from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from ...alerts.shared.messages import Message
from ...formats.otlp.columns import BodyLayout, MetricsBatch, SeriesTable
from ...vocabulary.samples import Event, TelemetryResource
from ..journal.actions import RecordedAction
from ..journal.kinds import PayloadKind


@dataclass(frozen=True, slots=True)
class Payload:
    """One request's body, decompressed, as the journal keeps it.

    `jobs` are patterns of the jobs its sender may speak for; empty: all, and what has no job.
    """

    kind: PayloadKind
    body: bytes
    jobs: tuple[str, ...] = ()
    sender: bytes = b""
    """Whose share of the queue it takes: the digest of a token; empty: nobody's in particular."""
    connection: Hashable = None
    """Over what it came: payloads of one connection keep their order."""
    trace: object = None
    """Where the collector observes itself: the trace that it begins."""


class PayloadDefectError(Exception):
    """A payload at which a decoder met a defect of ours: it would meet it again."""

    def __init__(self, what: str) -> None:
        super().__init__(f"a defect of the collector ({what}); see its log")


class PayloadSink(Protocol):
    """What takes payloads. From any thread."""

    def submit(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Queue a payload; the future resolves once it is kept."""
        ...


@dataclass(frozen=True, slots=True)
class DecodedPayload:
    """What a payload holds; what of it is not kept, and why; `cut` counts what is kept in part.

    One of `metrics`, `events`, an `action`, or what another partition has `shared`. `table` is the
    one that the series of `metrics` are numbered in.
    """

    metrics: MetricsBatch | None = None
    events: Sequence[Event] = ()
    action: RecordedAction | None = None
    shared: Message | None = None
    table: SeriesTable | None = None
    resources: Sequence[TelemetryResource] = ()
    """Whom the records of events are of, those included that are not kept."""
    rejected: int = 0
    reason: str = ""
    cut: int = 0
    text_bytes: int = 0
    """The most that the texts of its events may take: the bytes that they were read from."""
    trace: object = None

    @property
    def layout(self) -> BodyLayout | None:
        """Return how its bytes lie, where an earlier payload lay like it."""
        return None if self.metrics is None else self.metrics.layout

    @property
    def written(self) -> int:
        """Return how many of the sender's own samples were taken."""
        return 0 if self.metrics is None else self.metrics.written

    @property
    def accepted(self) -> int:
        """Return how many samples, events or actions it holds."""
        if self.action is not None:
            return 1
        return len(self.events) if self.metrics is None else len(self.metrics.columns.at)


@dataclass(frozen=True, slots=True)
class PayloadOutcome:
    """The answer to a payload that is safe in the journal.

    `accepted` counts what was made of it, `written` the sender's own samples (remote write).
    """

    accepted: int
    rejected: int = 0
    reason: str = ""
    written: int = 0
