"""The flow of a collector that is alone: over files of its own."""

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from ...vocabulary.clock import Clock
from ..accounting.watched import JobSummaries
from ..evaluation.rereading import RereadPlan
from ..evaluation.snapshots import SnapshotFile
from ..health.health import CollectorHealth
from ..history.journal_reader import FileJournalReader, JournalReader
from ..intake.payloads import Payload, PayloadOutcome
from ..intake.sender_names import SenderNames
from ..journal import interface
from ..journal.actions import RecordedAction
from ..journal.journal import FileJournal
from ..pipeline.pipeline import DetectionPipeline
from ..profiles.shelf import ProfileShelf
from ..settings.collector import CollectorSettings
from ..store.store import IncidentDatabaseStore
from .stages import CollectorStages

if TYPE_CHECKING:
    from ..tracing.spans import SpanMaker

T = TypeVar("T")


class StandaloneFlow:
    """The flow over stages of one's own: every job, its past and its profiles are here."""

    def __init__(
        self,
        stages: CollectorStages[DetectionPipeline],
        *,
        history: JournalReader,
        profiles: ProfileShelf,
    ) -> None:
        self.stages = stages
        self.history = history
        self.profiles = profiles
        self.summaries = JobSummaries(stages)
        self.own_summaries = self.summaries

    @property
    def ready(self) -> bool:
        """Tell whether payloads are taken."""
        return self.stages.ready

    def polls(self) -> bool:
        """Return True: nobody else does."""
        return True

    def gateway(self) -> None:
        """Return None: there is nobody to pass requests on to."""

    def warnings(self) -> list[str]:
        """Return what an operator has to change for all telemetry to be seen."""
        return self.stages.warnings()

    def start(self) -> None:
        """Start the threads of the stages."""
        self.stages.start()

    def stop(self, *, until: float = math.inf) -> None:
        """Take nothing more; evaluate and store what was taken; close."""
        self.stages.stop(until=until)

    def trim(self, now: float) -> int:
        """Let go of what is too old or too much; return the bytes that are left."""
        return self.stages.trim(now)

    def submit(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Queue a payload; the future resolves once it is safe on disk."""
        return self.stages.submit(payload)

    def act(self, action: RecordedAction, *, timeout_seconds: float) -> bool:
        """Enter what a person did in the journal, and wait until the store has it."""
        return self.stages.act(action, timeout_seconds=timeout_seconds)

    def read(self, question: Callable[[DetectionPipeline], T]) -> T:
        """Return the answer of a question to the pipeline, between two changes of it."""
        return self.stages.read(question)


class FileLog:
    """The log in files of the data folder. Raises segments.LockedError or OSError."""

    def __init__(self, settings: CollectorSettings) -> None:
        self._settings = settings
        folder = settings.journal_folder
        self._journal = FileJournal(folder, settings.journal)
        self._decisions = FileJournal(folder / interface.EVALUATION, settings.journal)

    def close(self) -> None:
        self._journal.close()
        self._decisions.close()

    def flow(
        self,
        store: IncidentDatabaseStore,
        clock: Clock,
        health: CollectorHealth,
        line: Callable[[], DetectionPipeline],
        traced: "SpanMaker | None",
    ) -> StandaloneFlow:
        """Return the stages over these files."""
        settings = self._settings
        stages = CollectorStages(
            pipeline=line(),
            journal=self._journal,
            decisions=self._decisions,
            sink=store if traced is None else traced.sink(store),
            clock=clock,
            health=health,
            snapshots=SnapshotFile(settings.snapshot_file),
            rereading=RereadPlan.of(store, settings.journal),
            queue_bytes=settings.intake.queue_bytes,
            tail_bytes=settings.intake.tail_bytes,
            names=SenderNames.of(settings.intake),
            tracing=traced,
        )
        return StandaloneFlow(
            stages,
            history=FileJournalReader(settings.journal_folder),
            profiles=ProfileShelf(settings.profiles_folder, settings.profiles),
        )
