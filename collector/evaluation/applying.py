"""The pipeline and how far it is: entries are applied to it in order, and others ask in between."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from ...alerts.closed import ClosedIncident
from ...formats.otlp.columns import SeriesTable
from ...formats.otlp.errors import UndecodableError
from ..health.defects import DefectLog
from ..health.health import CollectorHealth
from ..intake.decoding import DecodeFunction
from ..intake.payloads import DecodedPayload, Payload
from ..journal.actions import RecordedAction
from ..journal.entries import JournalEntry
from ..journal.interface import Offset
from ..journal.kinds import PayloadKind
from ..store.storing import StoreThread
from .access import FairLock, PayloadObserver, observed
from .overload import SkipPolicy
from .schedule import EvaluationSchedule, PipelineEvaluator, ScheduleHooks, ScheduleTime
from .snapshots import PipelineSnapshot

T = TypeVar("T")
P = TypeVar("P", bound=PipelineEvaluator)


class EntryApplier(Generic[P]):
    """For one thread; `read` may be called from any."""

    def __init__(
        self,
        pipeline: P,
        *,
        decoders: DecodeFunction,
        storing: StoreThread,
        skips: SkipPolicy,
        health: CollectorHealth,
        defects: DefectLog,
        observer: PayloadObserver | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._decoders = decoders
        self._storing = storing
        self._skips = skips
        self._health = health
        self._defects = defects
        self._observer = observer
        self._lock = FairLock()
        self.offset: Offset | None = None
        """Up to where the journal was applied."""
        self.schedule = self._scheduled(ScheduleTime())

    @property
    def table(self) -> SeriesTable:
        return self._pipeline.table

    def read(self, question: Callable[[P], T]) -> T:
        """Return the answer of a question to the pipeline, between two changes of it.

        The answer must not refer to what the pipeline goes on changing.
        """
        with self._lock:
            return question(self._pipeline)

    def entry(self, entry: JournalEntry) -> None:
        """Apply an entry of the journal, as it was written; one that cannot be read is counted."""
        if entry.kind in (PayloadKind.STOP, PayloadKind.TIME):
            self.schedule.until(entry.at)
            return
        try:
            decoded = self._decoders.decode(Payload(entry.kind, entry.body))
        except UndecodableError as error:
            self._defects.met("decode", error)
            return
        self.schedule.apply(decoded, entry.at)

    def received(self, decoded: DecodedPayload | None, at: float) -> None:
        """Apply what was taken in at a time; None: only time goes on."""
        if decoded is None:
            self.schedule.until(at)
            return
        if self._observer is not None:
            self._observer.applied(decoded.trace)
        self.schedule.apply(decoded, at)

    def remember(self, incidents: Iterable[ClosedIncident]) -> None:
        """Take in incidents of an earlier process, so that none is announced again."""
        with self._lock:
            self._pipeline.remember(incidents)

    def restore(self, found: PipelineSnapshot) -> None:
        """Go on where a snapshot was written; what the store had not committed is stored."""
        with self._lock:
            found.pipeline.resume(self._pipeline)
            self._pipeline = found.pipeline
            self.schedule = self._scheduled(found.moment)
        self.offset = found.offset
        for item in found.unstored:
            self._storing.add(item.changes, item.at, item.action)

    def snapshot(self) -> PipelineSnapshot:
        """Return the state as it is."""
        return PipelineSnapshot(
            self._pipeline, self.offset, self.schedule.moment, tuple(self._storing.held())
        )

    def _scheduled(self, moment: ScheduleTime) -> EvaluationSchedule:
        hooks = ScheduleHooks(
            changed=observed(self._observer, self._storing.add),
            failed=self._defects.met,
            acted=self._acted,
            took=self._health.evaluation_seconds.observe,
        )
        return EvaluationSchedule(
            self._pipeline, hooks, skips=self._skips, lock=self._lock, at=moment
        )

    def _acted(self, action: RecordedAction, changes: Sequence[Any], now: float) -> None:
        self._storing.add(changes, now, action)
