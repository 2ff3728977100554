r"""Intake, evaluation and storing, put together: three stages that never wait for each other.

submit -> intake -> journal, then acknowledged
\-> tail -> evaluation -> storing -> store
\-> snapshot
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

from ...vocabulary.clock import Clock
from ..evaluation.consumed_log import ConsumedLog
from ..evaluation.consumer import Consumer
from ..evaluation.recovery import Recovery
from ..evaluation.rereading import Rereading
from ..evaluation.schedule import Evaluator
from ..evaluation.snapshots import Snapshots
from ..health.health import Health
from ..health.series_limit import SeriesLimit
from ..intake.appending import Appending
from ..intake.decoding import Decoders
from ..intake.payloads import Outcome, Payload
from ..intake.tail import Tail
from ..journal.actions import Entered, Pending
from ..journal.interface import Partition
from ..journal.kinds import Kind
from ..store.storing import Sink, Storing

if TYPE_CHECKING:
    from ..tracing.spans import Tracing

T = TypeVar("T")
P = TypeVar("P", bound=Evaluator)
_SECOND_NS = 1_000_000_000


class Stages(Generic[P]):
    """The flow of one collector. `submit`, `act` and `read` may be called from any thread."""

    def __init__(
        self,
        *,
        pipeline: P,
        journal: Partition,
        decisions: Partition,
        sink: Sink,
        clock: Clock,
        health: Health,
        snapshots: Snapshots | None = None,
        rereading: Rereading | None = None,
        queue_bytes: int = 256 << 20,
        tail_bytes: int = 256 << 20,
        tracing: "Tracing | None" = None,
    ) -> None:
        """`tracing` is there only where the collector observes itself."""
        self._tracing = tracing
        self._pending = Pending()
        self._journal = journal
        self._decisions = decisions
        before_ns = journal.last_at_ns()
        evaluated = (snapshots.evaluated() if snapshots else None) or 0
        tail = Tail(tail_bytes)
        decoders = Decoders(pipeline.table.alike, room=lambda: not self._full())
        self._limit = SeriesLimit(
            health=health,
            clock=clock,
            series=lambda: self.consumer.table.live,
            full=self._full,
        )
        self.intake = Appending(
            journal=journal,
            decoders=decoders,
            tail=tail,
            clock=clock,
            health=health,
            queue_bytes=queue_bytes,
            rejected=self._limit.refused_by_decoder,
            after_ns=max(before_ns or 0, evaluated * _SECOND_NS),
        )
        self.storing = Storing(sink, health=health, kept=self._pending.kept)
        self.consumer = Consumer(
            pipeline=pipeline,
            log=ConsumedLog(
                journal=journal,
                decisions=decisions,
                received=self.intake,
                tail=tail,
                decoders=decoders,
                before_ns=before_ns,
            ),
            recovery=Recovery(snapshots, rereading or Rereading()),
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
        return [] if warning is None else [warning]

    def start(self) -> None:
        """Start the three threads. Payloads are taken at once, whatever is to be caught up with."""
        self.intake.start()
        self.storing.start()
        self.consumer.start()

    def stop(self) -> None:
        """Take nothing more; evaluate and store what was taken; note how far it came; close."""
        self.intake.stop()
        self.consumer.stop()
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

    def submit(self, payload: Payload) -> "Future[Outcome]":
        """Queue a payload; the future resolves once it is safe on disk (see `Appending.submit`)."""
        if self._tracing is not None:
            return self._tracing.submit(payload, self.intake.submit)
        return self.intake.submit(payload)

    def act(self, action: Entered, *, timeout_seconds: float) -> bool:
        """Enter what a person did in the journal, and wait until the store has it.

        Returns False where it is in the journal but not yet in the store when time is up. Raises
        UnavailableError where it cannot be taken.
        """
        stored = self._pending.expect(action.id)
        try:
            self.submit(Payload(Kind.ACTION, action.pack())).result()
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
