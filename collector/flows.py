"""The two flows of a collector: over files of its own, or over a log that several share."""

import functools
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..vocabulary.clock import Clock
from .actions import Entered
from .api.watched import Watched
from .evaluation.rereading import Rereading
from .evaluation.snapshots import Snapshots
from .health import Health
from .intake.payloads import Outcome, Payload
from .journal import interface
from .journal.journal import Journal
from .metering import Watching
from .past.held import Held, HeldFiles
from .pipeline import Pipeline
from .profiles.shelf import Shelf
from .settings.collector import CollectorSettings
from .stages import Stages
from .store.store import Store

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from .cluster.stages import ClusterStages
    from .tracing.spans import Tracing

T = TypeVar("T")


class Flow(Protocol):
    """What takes payloads, evaluates them, and is asked about them. From any thread."""

    @property
    def ready(self) -> bool:
        """Tell whether payloads are taken."""
        ...

    def warnings(self) -> list[str]:
        """Return what an operator has to know."""
        ...

    def start(self) -> None:
        """Begin."""
        ...

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


class Files:
    """The log in files of the data folder. Raises segments.LockedError or OSError."""

    def __init__(self, settings: CollectorSettings) -> None:
        self._settings = settings
        folder = settings.journal_folder
        self._journal = Journal(folder, settings.journal)
        self._decisions = Journal(folder / interface.EVALUATION, settings.journal)

    def close(self) -> None:
        """Let go of the folder."""
        self._journal.close()
        self._decisions.close()

    def flow(
        self,
        store: Store,
        clock: Clock,
        health: Health,
        line: Callable[[], Pipeline],
        traced: "Tracing | None",
    ) -> Flow:
        """Return the stages over these files."""
        settings = self._settings
        return Stages(
            pipeline=line(),
            journal=self._journal,
            decisions=self._decisions,
            sink=store if traced is None else traced.sink(store),
            clock=clock,
            health=health,
            snapshots=Snapshots(settings.snapshot_file),
            rereading=Rereading.of(store, settings.journal),
            queue_bytes=settings.intake.queue_bytes,
            tail_bytes=settings.intake.tail_bytes,
            tracing=traced,
        )


def shared(flow: Flow) -> "ClusterStages | None":
    """Return the flow where it is one of several collectors."""
    found: ClusterStages | None = getattr(flow, "as_one_of_several", None)
    return found


def watched(flow: Flow) -> Watched:
    """Return the summaries of the jobs that a flow watches, those of other collectors too."""
    found = shared(flow)
    return Watched(flow) if found is None else found.summaries


def metered(flow: Flow) -> Watching:
    """Return the summaries of the jobs that this collector evaluates itself."""
    found = shared(flow)
    return Watched(flow) if found is None else found.summaries.mine


def held(flow: Flow, settings: CollectorSettings) -> Held:
    """Return the entries of the past: this collector's files, or the log that several share."""
    found = shared(flow)
    return HeldFiles(settings.journal_folder) if found is None else found.held


def shelf(flow: Flow, settings: CollectorSettings) -> Shelf:
    """Return the profiles of this collector, or of all that share the log."""
    found = shared(flow)
    if found is None:
        return Shelf(settings.profiles_folder, settings.profiles)
    return found.profiles


def polls(flow: Flow) -> bool:
    """Tell whether this collector polls the stores of the settings: one of several does."""
    found = shared(flow)
    return found is None or found.owns_job(None)


def gateway(flow: Flow) -> "Callable[[ASGIApp], ASGIApp] | None":
    """Return what passes requests on to the collectors that have the answers."""
    found = shared(flow)
    if found is None:
        return None
    from .cluster.gateway import Gateway  # noqa: PLC0415  it is here, as the flow is

    return functools.partial(Gateway, stages=found)
