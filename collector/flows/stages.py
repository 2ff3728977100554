r"""Intake, evaluation and storing, put together: three stages that never wait for each other.

submit -> intake -> journal, then acknowledged
\-> tail -> evaluation -> storing -> store
\-> snapshot
"""

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

from ...vocabulary.clock import Clock
from ..evaluation.consumed_log import ConsumedLog
from ..evaluation.consumer import EvaluationConsumer
from ..evaluation.recovery import RecoveryPlan
from ..evaluation.rereading import RereadPlan
from ..evaluation.schedule import PipelineEvaluator
from ..evaluation.snapshots import SnapshotFile
from ..health.bound_log import BoundLog
from ..health.health import CollectorHealth
from ..health.series_limit import SeriesLimit
from ..intake.appending import IntakeThread
from ..intake.decoding import DecoderPool
from ..intake.payloads import Payload, PayloadOutcome
from ..intake.sender_names import SenderNames
from ..intake.tail import IntakeTail
from ..journal.actions import PendingAction, RecordedAction
from ..journal.interface import LogPartition
from ..journal.kinds import PayloadKind
from ..store.storing import ChangeSink, StoreThread

if TYPE_CHECKING:
    from ..tracing.spans import SpanMaker

T = TypeVar("T")
P = TypeVar("P", bound=PipelineEvaluator)
_SECOND_NS = 1_000_000_000


class CollectorStages(Generic[P]):
    """The flow of one collector. `submit`, `act` and `read` may be called from any thread."""

    def __init__(
        self,
        *,
        pipeline: P,
        journal: LogPartition,
        decisions: LogPartition,
        sink: ChangeSink,
        clock: Clock,
        health: CollectorHealth,
        snapshots: SnapshotFile | None = None,
        rereading: RereadPlan | None = None,
        queue_bytes: int = 256 << 20,
        tail_bytes: int = 256 << 20,
        names: SenderNames | None = None,
        tracing: "SpanMaker | None" = None,
    ) -> None:
        """`tracing` is there only where the collector observes itself."""
        self._tracing = tracing
        self._pending = PendingAction()
        self._journal = journal
        self._decisions = decisions
        before_ns = journal.last_at_ns()
        evaluated = (snapshots.evaluated() if snapshots else None) or 0
        tail = IntakeTail(tail_bytes)
        decoders = DecoderPool(pipeline.table.alike, room=lambda: not self._full())
        self._limit = SeriesLimit(
            health=health,
            clock=clock,
            series=lambda: self.consumer.table.live,
            full=self._full,
        )
        self._bounds = BoundLog(health=health, clock=clock)
        pipeline.bounded = self._bounds.passed
        self.intake = IntakeThread(
            journal=journal,
            decoders=decoders,
            tail=tail,
            clock=clock,
            health=health,
            queue_bytes=queue_bytes,
            rejected=self._limit.refused_by_decoder,
            names=names,
            bounded=self._bounds.passed,
            after_ns=max(before_ns or 0, evaluated * _SECOND_NS),
        )
        self.storing = StoreThread(sink, health=health, kept=self._pending.kept)
        self.consumer = EvaluationConsumer(
            pipeline=pipeline,
            log=ConsumedLog(
                journal=journal,
                decisions=decisions,
                received=self.intake,
                tail=tail,
                decoders=decoders,
                before_ns=before_ns,
            ),
            recovery=RecoveryPlan(snapshots, rereading or RereadPlan()),
            storing=self.storing,
            clock=clock,
            health=health,
            refused=self._limit.refused,
            observer=tracing,
        )

        health.lag_seconds.set_function(self.consumer.lag)
        health.series.set_function(lambda: self.consumer.table.live)
        health.series_limit.set_function(lambda: self.consumer.table.capacity)

    def _full(self) -> bool:
        return self.consumer.table.full

    @property
    def ready(self) -> bool:
        """Tell whether payloads are taken."""
        return self.intake.ready

    def warnings(self) -> list[str]:
        """Return what an operator has to change for all telemetry to be seen."""
        warning = self._limit.warning()
        return [*([] if warning is None else [warning]), *self._bounds.warnings()]

    def start(self) -> None:
        """Start the three threads. Payloads are taken at once, whatever is to be caught up with."""
        self.intake.start()
        self.storing.start()
        self.consumer.start()

    def stop(self, *, until: float = math.inf) -> None:
        """Take nothing more; evaluate and store what was taken; note how far it came; close.

        `until`: by the monotonic clock, when evaluation leaves the rest to the next start.
        """
        self.intake.stop()
        self.consumer.stop(until=until)
        evaluated = self.consumer.evaluated
        if self.consumer.whole and evaluated is not None:
            self.intake.note_stop(evaluated)
        self.storing.stop()
        self._journal.close()
        self._decisions.close()

    def trim(self, now: float) -> int:
        """Let go of what is too old or too much; return the bytes that are left."""
        left = self._journal.trim(now)
        self._decisions.trim(now)
        return left

    def submit(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Queue a payload; the future resolves once it is safe on disk (see `Appending.submit`)."""
        if self._tracing is not None:
            return self._tracing.submit(payload, self.intake.submit)
        return self.intake.submit(payload)

    def act(self, action: RecordedAction, *, timeout_seconds: float) -> bool:
        """Enter what a person did in the journal, and wait until the store has it.

        Returns False where it is in the journal but not yet in the store when time is up. Raises
        UnavailableError where it cannot be taken.
        """
        stored = self._pending.expect(action.id)
        try:
            self.submit(Payload(PayloadKind.ACTION, action.pack())).result()
            stored.result(timeout_seconds)
        except TimeoutError:
            return False
        finally:
            self._pending.forget(action.id)
        return True

    def read(self, question: Callable[[P], T]) -> T:
        """Return the answer of a question to the pipeline, between two changes of it.

        The answer must not refer to what the pipeline goes on changing.
        """
        return self.consumer.read(question)
