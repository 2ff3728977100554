"""What a collector asks of its flow, over files of its own or a log that several share."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from starlette.types import ASGIApp

from ...vocabulary.clock import Clock
from ..accounting.metering import Watching
from ..accounting.watched import Watched
from ..health.health import Health
from ..intake.payloads import Outcome, Payload
from ..journal.actions import Entered
from ..past.held import Held
from ..pipeline.pipeline import Pipeline
from ..profiles.shelf import Shelf
from ..store.store import Store

if TYPE_CHECKING:
    from ..tracing.spans import Tracing

T = TypeVar("T")


class Flow(Protocol):
    """What takes payloads, evaluates them, and is asked about them. From any thread."""

    @property
    def ready(self) -> bool:
        """Tell whether payloads are taken."""
        ...

    @property
    def summaries(self) -> Watched:
        """Return the summaries of all jobs, those that other collectors evaluate too."""
        ...

    @property
    def own_summaries(self) -> Watching:
        """Return the summaries of the jobs that this collector evaluates itself."""
        ...

    @property
    def history(self) -> Held:
        """Return the entries of the past: of this collector's files, or of the shared log."""
        ...

    @property
    def profiles(self) -> Shelf:
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

    def stop(self) -> None:
        """Take nothing more, keep what was taken, and end."""
        ...

    def trim(self, now: float) -> int:
        """Let go of what is too old or too much; return the bytes that are left."""
        ...

    def submit(self, payload: Payload) -> "Future[Outcome]":
        """Queue a payload; the future resolves once it is kept."""
        ...

    def act(self, action: Entered, *, timeout_seconds: float) -> bool:
        """Enter what a person did; False where the store does not have it when time is up."""
        ...

    def read(self, question: Callable[[Any], T]) -> T:
        """Return the answer of a question to the pipeline."""
        ...


class Log(Protocol):
    """Where payloads are kept, opened."""

    def flow(
        self,
        store: Store,
        clock: Clock,
        health: Health,
        line: Callable[[], Pipeline],
        traced: "Tracing | None",
    ) -> Flow:
        """Return the flow over it; `line` makes a pipeline, `traced` gets spans."""
        ...

    def close(self) -> None:
        """Let go of it, where no flow was made."""
        ...
