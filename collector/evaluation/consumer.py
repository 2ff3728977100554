"""The evaluation thread: consumes the journal from its offset, through the tail where it can.

It owns the pipeline. A start comes back to where the last process was first (restart.py), while
intake takes payloads already. Then it follows the intake's watermark.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

from ...formats.otlp.columns import SeriesTable
from ...vocabulary.clock import Clock
from ..health.defects import DefectLog
from ..health.health import CollectorHealth
from ..store.storing import StoreThread
from .access import PayloadObserver
from .applying import EntryApplier
from .consumed_log import ConsumedLog
from .overload import OverloadSkips, RecordedSkips
from .recovery import RecoveryPlan
from .restart import EvaluationRestart
from .schedule import PipelineEvaluator
from .snapshot_timer import SnapshotTimer
from .snapshots import PipelineSnapshot

T = TypeVar("T")
P = TypeVar("P", bound=PipelineEvaluator)

_LOG = structlog.get_logger(__name__)


class EvaluationConsumer(Generic[P]):
    """Owns the pipeline. `read` may be called from any thread."""

    def __init__(
        self,
        *,
        pipeline: P,
        log: ConsumedLog,
        recovery: RecoveryPlan,
        storing: StoreThread,
        clock: Clock,
        health: CollectorHealth,
        refused: Callable[[int], None] = lambda _points: None,
        observer: PayloadObserver | None = None,
    ) -> None:
        """`refused` gets how many points had no room."""
        self._journal = log.journal
        self._received = log.received
        self._tail = log.tail
        self._clock = clock
        self._health = health
        self._snapshots = snapshots = recovery.snapshots
        self._timer = (
            None
            if snapshots is None
            else SnapshotTimer(snapshots, health=health, seconds=recovery.snapshot_seconds)
        )
        self._recovered = recovery.recovered
        self._refused = refused
        self._before_ns = log.before_ns
        self._defects = DefectLog(health=health)
        overload = OverloadSkips(
            log.decisions,
            RecordedSkips.of(entry for entry, _ in log.decisions.read(None)),
            received=log.received.watermark,
            skipped=health.skipped_seconds.inc,
        )
        self._applying = EntryApplier(
            pipeline,
            decoders=log.decoders,
            storing=storing,
            skips=overload,
            health=health,
            defects=self._defects,
            observer=observer,
        )
        self._restart = EvaluationRestart(
            self._applying,
            log=log,
            recovery=recovery,
            overload=overload,
            clock=clock,
            health=health,
            defects=self._defects,
            stopping=lambda: self._stopping,
        )
        self._next = 0
        self._stopping = False
        self._until = math.inf
        """When a stop has no more time for what waits, by the monotonic clock."""
        self.whole = True
        """Whether all was applied in order; False once a stop has cut that short."""
        self._thread = threading.Thread(target=self._run, name="evaluation", daemon=True)

    def start(self) -> None:
        """Start the thread; it first goes back to where the last process was."""
        self._thread.start()

    def stop(self, *, keep: bool = True, until: float = math.inf) -> None:
        """Apply what was taken in, evaluate up to the watermark, write a snapshot, and end.

        Without `keep` it just ends: somebody else goes on from the log. What is not applied `until`
        then, by the monotonic clock, the next start reads from the log.
        """
        self._until = until
        self._stopping = True
        self._tail.wake()
        if self._thread.ident is not None:
            self._thread.join()
        if not self.whole or not keep:
            return
        self.step()
        self.whole = self._next >= self._tail.added
        if not self.whole:
            left = self._tail.added - self._next
            _LOG.warning("evaluation goes on from here at the next start", entries=left)
        if self._snapshots is not None and self.evaluated is not None:
            try:
                self._snapshots.write(self.snapshot())
            except OSError as error:
                _LOG.warning("the last snapshot could not be written", error=str(error))

    def read(self, question: Callable[[P], T]) -> T:
        """Return the answer of a question to the pipeline, between two changes of it.

        The answer must not refer to what the pipeline goes on changing.
        """
        return self._applying.read(question)

    def lag(self, ahead_seconds: float = 0.0) -> float:
        """Return how many seconds evaluation is behind a clock so far ahead of this one's.

        It is 0 before the first entry.
        """
        evaluated = self.evaluated
        if evaluated is None:
            return 0.0
        return max(0.0, self._clock.now() + ahead_seconds - evaluated - 1.0)

    @property
    def evaluated(self) -> int | None:
        """Return the last second that was reached, None before the first entry."""
        return self._applying.schedule.evaluated

    @property
    def table(self) -> SeriesTable:
        """Return the pipeline's series; others may only count them."""
        return self._applying.table

    def recover(self) -> None:
        """Come back to where the last process was."""
        self.whole = self._restart.recover()

    def snapshot(self) -> PipelineSnapshot:
        """Return the state as it is; for the thread that steps."""
        return self._applying.snapshot()

    def step(self) -> None:
        """Apply what came in, and evaluate up to the watermark."""
        watermark = self._received.watermark()
        while self._next < self._tail.added:
            if time.monotonic() >= self._until:
                return
            self._apply_next()
        schedule = self._applying.schedule
        schedule.until(watermark)
        self._refused(schedule.translations.refused)
        schedule.translations.refused = 0
        self._health.tail_bytes.set(self._tail.bytes)

    def _run(self) -> None:
        self.recover()
        self._recovered(self._applying.offset)
        while self.whole and not self._stopping:
            try:
                self.step()
                if self._timer is not None and self.evaluated is not None:
                    self._timer.write_if_due(self.snapshot)
            except Exception as error:  # noqa: BLE001  the thread must outlive any defect
                self._defects.met("evaluation", error)
                time.sleep(0.1)
            self._tail.wait(self._next, 1.01 - self._clock.now() % 1.0)

    def _apply_next(self) -> None:
        item = self._tail.first()
        if item is not None and item.number <= self._next:
            if item.number == self._next:
                self._applying.received(item.decoded, item.at)
                self._applying.offset = item.end
                self._next += 1
            self._tail.drop()
            return
        # Left out of the tail, which was full: it is in the journal.
        upto = self._tail.added if item is None else item.number
        for entry, offset in self._journal.read(self._applying.offset):
            if self._before_ns is not None and entry.at_ns <= self._before_ns:
                continue
            self._applying.entry(entry)
            self._applying.offset = offset
            self._next += 1
            if self._next >= upto or time.monotonic() >= self._until:
                return
        # Trimmed or damaged since: gone from memory and disk.
        _LOG.error("entries of the journal are gone before evaluation", entries=upto - self._next)
        self._next = upto
