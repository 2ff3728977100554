"""What a collector asks of its flow, over files of its own or a log that several share."""

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from starlette.types import ASGIApp

from ...vocabulary.clock import Clock
from ..accounting.metering import SummarySource
from ..accounting.watched import JobSummaries
from ..health.health import CollectorHealth
from ..history.journal_reader import JournalReader
from ..intake.payloads import Payload, PayloadOutcome
from ..journal.actions import RecordedAction
from ..pipeline.pipeline import DetectionPipeline
from ..profiles.shelf import ProfileShelf
from ..store.store import IncidentDatabaseStore

if TYPE_CHECKING:
    from ..tracing.spans import SpanMaker

T = TypeVar("T")


class CollectorFlow(Protocol):
    """What takes payloads, evaluates them, and is asked about them. From any thread."""

    @property
    def ready(self) -> bool:
        """Tell whether payloads are taken."""
        ...

    @property
    def summaries(self) -> JobSummaries:
        """Return the summaries of all jobs, those that other collectors evaluate too."""
        ...

    @property
    def own_summaries(self) -> SummarySource:
        """Return the summaries of the jobs that this collector evaluates itself."""
        ...

    @property
    def history(self) -> JournalReader:
        """Return the entries of the past: of this collector's files, or of the shared log."""
        ...

    @property
    def profiles(self) -> ProfileShelf:
        """Return the profiles of this collector, or of all that share the log."""
        ...

    def polls(self) -> bool:
        """Tell whether this collector polls the stores of the settings: one of several does."""
        ...

    def gateway(self) -> Callable[[ASGIApp], ASGIApp] | None:
        """Return what passes requests on to the collectors that have the answers; None: alone."""
        ...

    def warnings(self) -> list[str]:
        """Return what an operator has to know."""
        ...

    def start(self) -> None: ...

    def stop(self, *, until: float = math.inf) -> None:
        """Take nothing more, keep what was taken, and end.

        `until`: by the monotonic clock, when what takes long is left to the next start.
        """
        ...

    def trim(self, now: float) -> int:
        """Let go of what is too old or too much; return the bytes that are left."""
        ...

    def submit(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Queue a payload; the future resolves once it is kept."""
        ...

    def act(self, action: RecordedAction, *, timeout_seconds: float) -> bool:
        """Enter what a person did; False where the store does not have it when time is up."""
        ...

    def read(self, question: Callable[[Any], T]) -> T:
        """Return the answer of a question to the pipeline."""
        ...


class PayloadLog(Protocol):
    """Where payloads are kept, opened."""

    def flow(
        self,
        store: IncidentDatabaseStore,
        clock: Clock,
        health: CollectorHealth,
        line: Callable[[], DetectionPipeline],
        traced: "SpanMaker | None",
    ) -> CollectorFlow:
        """Return the flow over it; `line` makes a pipeline, `traced` gets spans."""
        ...

    def close(self) -> None:
        """Let go of it, where no flow was made."""
        ...
