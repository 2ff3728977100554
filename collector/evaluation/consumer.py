"""The evaluation thread: consumes the journal from its offset, through the tail where it can.

It owns the pipeline. After a start it takes the snapshot and reads the journal from the snapshot's
offset; intake takes payloads meanwhile. Then it follows the intake's watermark.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import structlog

from ...formats.otlp.columns import SeriesTable
from ...formats.otlp.errors import UndecodableError
from ...vocabulary.clock import Clock
from ..actions import Entered
from ..defects import Defects
from ..health import Health
from ..intake.decoding import Decoding
from ..intake.payloads import Decoded, Payload
from ..intake.tail import Entries
from ..journal.entries import Entry
from ..journal.interface import Offset, Partition
from ..journal.kinds import Kind
from ..storing import Storing
from .access import FairLock, Observer, Received, observed
from .overload import Overload, Recorded
from .rereading import Rereading
from .schedule import Evaluator, Hooks, Moment, Schedule
from .snapshot_timer import SNAPSHOT_SECONDS, SnapshotTimer
from .snapshots import Snapshot, SnapshotError, Snapshots

T = TypeVar("T")
P = TypeVar("P", bound=Evaluator)

_LOG = structlog.get_logger(__name__)
_PROGRESS_SECONDS = 5.0


class Consumer(Generic[P]):
    """Owns the pipeline. `read` may be called from any thread."""

    def __init__(
        self,
        *,
        pipeline: P,
        journal: Partition,
        decisions: Partition,
        received: Received,
        tail: Entries,
        decoders: Decoding,
        storing: Storing,
        clock: Clock,
        health: Health,
        snapshots: Snapshots | None = None,
        rereading: Rereading | None = None,
        before_ns: int | None = None,
        refused: Callable[[int], None] = lambda _points: None,
        recovered: Callable[[Offset | None], None] = lambda _offset: None,
        snapshot_seconds: float = SNAPSHOT_SECONDS,
        observer: Observer | None = None,
    ) -> None:
        """`before_ns`: the receive time of the newest entry of an earlier process.

        `refused` gets how many points had no room, `recovered` the offset that a restart came to.
        """
        self._observer = observer
        self._pipeline = pipeline
        self._journal = journal
        self._received = received
        self._tail = tail
        self._decoders = decoders
        self._storing = storing
        self._clock = clock
        self._health = health
        self._snapshots = snapshots
        self._timer = (
            None
            if snapshots is None
            else SnapshotTimer(snapshots, health=health, seconds=snapshot_seconds)
        )
        self._recovered = recovered
        self._refused = refused
        self._rereading = rereading or Rereading()
        self._before_ns = before_ns
        self._defects = Defects(health=health)
        self._overload = Overload(
            decisions,
            Recorded.of(entry for entry, _ in decisions.read(None)),
            received=received.watermark,
            skipped=health.skipped_seconds.inc,
        )
        self._lock = FairLock()
        self._next = 0
        self._offset: Offset | None = None
        self._schedule = self._scheduled(Moment())
        self._stopping = False
        self.whole = True
        """Whether all was applied in order; False once a stop has cut the restart short."""
        self._thread = threading.Thread(target=self._run, name="evaluation", daemon=True)

    def start(self) -> None:
        """Start the thread; it first goes back to where the last process was."""
        self._thread.start()

    def stop(self, *, keep: bool = True) -> None:
        """Apply what was taken in, evaluate up to the watermark, write a snapshot, and end.

        Without `keep` it just ends: somebody else goes on from the log.
        """
        self._stopping = True
        self._tail.wake()
        if self._thread.ident is not None:
            self._thread.join()
        if not self.whole or not keep:
            return
        self.step()
        if self._snapshots is not None and self._schedule.evaluated is not None:
            try:
                self._snapshots.write(self.snapshot())
            except OSError as error:
                _LOG.warning("the last snapshot could not be written", error=str(error))

    def read(self, question: Callable[[P], T]) -> T:
        """Return the answer of a question to the pipeline, between two changes of it.

        The answer must not refer to what the pipeline goes on changing.
        """
        with self._lock:
            return question(self._pipeline)

    def lag(self, ahead_seconds: float = 0.0) -> float:
        """Return how many seconds evaluation is behind a clock so far ahead of this one's.

        It is 0 before the first entry.
        """
        evaluated = self._schedule.evaluated
        if evaluated is None:
            return 0.0
        return max(0.0, self._clock.now() + ahead_seconds - evaluated - 1.0)

    @property
    def evaluated(self) -> int | None:
        """Return the last second that was reached, None before the first entry."""
        return self._schedule.evaluated

    @property
    def table(self) -> SeriesTable:
        """Return the pipeline's series; others may only count them."""
        return self._pipeline.table

    def recover(self) -> None:
        """Come back to where the last process was: by its snapshot, or by reading more again."""
        self._overload.recovering = True
        try:
            self._overload.decided_until = self._rereading.decided_until()
        except Exception as error:  # noqa: BLE001  the store is away: what it has is not known
            self._defects.met("restart", error)
        try:
            entries = self._restored()
            if entries is None:
                self._reread()
            else:
                self._catch_up(entries)
        except Exception as error:  # noqa: BLE001  better without all of its past than not at all
            if self._stopping:
                self.whole = False
            else:
                self._defects.met("restart", error)
        finally:
            self._overload.recovering = False

    def step(self) -> None:
        """Apply what came in, and evaluate up to the watermark."""
        watermark = self._received.watermark()
        while self._next < self._tail.added:
            self._apply_next()
        self._schedule.until(watermark)
        self._refused(self._schedule.translations.refused)
        self._schedule.translations.refused = 0
        self._health.tail_bytes.set(self._tail.bytes)

    def _run(self) -> None:
        self.recover()
        self._recovered(self._offset)
        while self.whole and not self._stopping:
            try:
                self.step()
                if self._timer is not None and self._schedule.evaluated is not None:
                    self._timer.write_if_due(self.snapshot)
            except Exception as error:  # noqa: BLE001  the thread must outlive any defect
                self._defects.met("evaluation", error)
                time.sleep(0.1)
            self._tail.wait(self._next, 1.01 - self._clock.now() % 1.0)

    # -- consuming -------------------------------------------------------------------------

    def _apply_next(self) -> None:
        item = self._tail.first()
        if item is not None and item.number <= self._next:
            if item.number == self._next:
                if item.decoded is None:
                    self._schedule.until(item.at)
                else:
                    if self._observer is not None:
                        self._observer.applied(item.decoded.trace)
                    self._schedule.apply(item.decoded, item.at)
                self._offset = item.end
                self._next += 1
            self._tail.drop()
            return
        # Left out of the tail, which was full: it is in the journal.
        upto = self._tail.added if item is None else item.number
        for entry, offset in self._journal.read(self._offset):
            if self._before_ns is not None and entry.at_ns <= self._before_ns:
                continue
            self._apply(entry)
            self._offset = offset
            self._next += 1
            if self._next >= upto:
                return
        # Trimmed or damaged since: gone from memory and disk.
        _LOG.error("entries of the journal are gone before evaluation", entries=upto - self._next)
        self._next = upto

    def _apply(self, entry: Entry) -> None:
        if entry.kind in (Kind.STOP, Kind.TIME):
            self._schedule.until(entry.at)
            return
        try:
            decoded: Decoded = self._decoders.decode(Payload(entry.kind, entry.body))
        except UndecodableError as error:
            self._defects.met("decode", error)
            return
        self._schedule.apply(decoded, entry.at)

    # -- restart ---------------------------------------------------------------------------

    def _restored(self) -> Iterator[tuple[Entry, Offset]] | None:
        """Take over the snapshot; return the entries after it, None without a usable one."""
        if self._snapshots is None or self._before_ns is None:
            return None
        began = time.monotonic()
        try:
            found = self._snapshots.load()
            if found.offset is not None and not self._journal.holds(found.offset):
                raise SnapshotError("the journal was trimmed beyond it")
        except SnapshotError as error:
            _LOG.warning("no snapshot to start from: the journal is read again", why=str(error))
            return None
        with self._lock:
            found.pipeline.resume(self._pipeline)
            self._pipeline = found.pipeline
            self._schedule = self._scheduled(found.moment)
        self._offset = found.offset
        for item in found.unstored:
            self._storing.add(item.changes, item.at, item.action)
        _LOG.info(
            "snapshot loaded",
            evaluated=found.moment.evaluated,
            seconds=round(time.monotonic() - began, 2),
        )
        return self._journal.read(found.offset)

    def _reread(self) -> None:
        """Read the last minutes of the journal again: what is still open is found again."""
        now = self._clock.now()
        seconds = self._rereading.seconds(now)
        newest = now if self._before_ns is None else self._before_ns / 1e9
        with self._lock:
            self._pipeline.remember(self._rereading.past(newest - seconds))
        if self._before_ns is not None:
            self._catch_up(self._journal.latest(seconds))

    def _catch_up(self, entries: Iterable[tuple[Entry, Offset]]) -> None:
        began = shown = time.monotonic()
        count = 0
        for entry, offset in entries:
            if self._before_ns is None or entry.at_ns > self._before_ns:
                break  # what this process took in comes by the tail
            if self._stopping:
                self.whole = False
                return
            self._apply(entry)
            self._offset = offset
            count += 1
            if time.monotonic() - shown > _PROGRESS_SECONDS:
                shown = time.monotonic()
                behind = (self._before_ns - entry.at_ns) / 1e9
                _LOG.info("reading the journal", entries=count, seconds_left=round(behind))
        self._health.replayed.inc(count)
        _LOG.info(
            "evaluation follows the intake",
            journal_entries_read=count,
            seconds=round(time.monotonic() - began, 2),
        )

    # -- what it gives ---------------------------------------------------------------------

    def _scheduled(self, moment: Moment) -> Schedule:
        hooks = Hooks(
            changed=observed(self._observer, self._storing.add),
            failed=self._defects.met,
            acted=self._acted,
            took=self._health.evaluation_seconds.observe,
        )
        return Schedule(self._pipeline, hooks, skips=self._overload, lock=self._lock, at=moment)

    def _acted(self, action: Entered, changes: Sequence[Any], now: float) -> None:
        self._storing.add(changes, now, action)

    def snapshot(self) -> Snapshot:
        """Return the state as it is; for the thread that steps."""
        return Snapshot(
            self._pipeline, self._offset, self._schedule.moment, tuple(self._storing.held())
        )
