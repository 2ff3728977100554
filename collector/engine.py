"""The one thread that owns journal and pipeline: acknowledge after fsync, apply in that order.

Intake hands payloads in from any thread. The engine takes what waits, gives each a receive time
that never goes back, writes all of it with one fsync, answers, and only then applies. Judgement of
a second happens when every payload received before it has been applied. `replay` of the journal
therefore makes the same calls with the same times.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

import structlog

from ..formats.otlp.errors import UndecodableError
from ..vocabulary.clock import Clock
from .health import Health
from .intake import permits
from .intake.decoding import Decoder
from .intake.payloads import Decoded, Outcome, Payload
from .journal.entries import Entry
from .journal.journal import Written
from .journal.kinds import Kind
from .judging import Judge, Judging

T = TypeVar("T")
P = TypeVar("P", bound=Judge)

_LOG = structlog.get_logger(__name__)
_GROUP_BYTES = 16 << 20
"""Payloads of one fsync: enough to share it among many, few enough that nobody waits long."""
_REFUSED_SECONDS = 10
"""When senders may try again after the disk refused: it does not heal within a second."""
_SECOND_NS = 1_000_000_000

_Taken = tuple[Entry, Decoded, "Future[Outcome]"]


class UnavailableError(Exception):
    """The engine cannot take a payload now; the sender keeps it and tries again."""

    def __init__(self, reason: str, *, retry_after_seconds: int = 1) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds


class BusyError(UnavailableError):
    """The queue is full."""


class Journal(Protocol):
    """What the engine needs of a journal."""

    def write(self, entries: Sequence[Entry]) -> Written:
        """Append the entries, make them durable, and say how many are."""
        ...

    def latest(self, seconds: float) -> Iterable[Entry]:
        """Yield the entries of the last stretch, in order of writing."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class Sink(Protocol):
    """Where changes of incidents go. `commit` may be called again with what it already has."""

    def commit(self, changes: Sequence[Any], now: float) -> None:
        """Keep the changes of one second, all or none."""
        ...


class Engine(Generic[P]):
    """Owns journal and pipeline. `submit` and `read` may be called from any thread."""

    def __init__(
        self,
        *,
        pipeline: P,
        journal: Journal,
        sink: Sink,
        clock: Clock,
        health: Health,
        queue_bytes: int = 256 << 20,
        reread_seconds: float = 1200,
    ) -> None:
        self._pipeline = pipeline
        self._journal = journal
        self._sink = sink
        self._clock = clock
        self._health = health
        self._queue_bytes = queue_bytes
        self._reread_seconds = reread_seconds
        self._decoder = Decoder(pipeline.table)
        self._judging = Judging(
            pipeline,
            changed=self._changed,
            failed=self._failed,
            took=health.judge_seconds.observe,
        )
        self._received_ns = 0
        self._queue: deque[tuple[Payload, Future[Outcome]]] = deque()
        self._queued = 0
        self._waiting = threading.Condition()
        self._view = threading.Lock()
        self._uncommitted: list[tuple[Sequence[Any], float]] = []
        self._state = "new"
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    @property
    def ready(self) -> bool:
        """Tell whether payloads are taken: what was before is read, and it is not stopping."""
        return self._state == "running"

    def start(self) -> None:
        """Start the thread; it first reads the last stretch of the journal again."""
        self._state = "starting"
        self._thread.start()

    def wait_ready(self) -> bool:
        """Wait until payloads are taken; False when it was stopped before."""
        with self._waiting:
            self._waiting.wait_for(lambda: self._state in ("running", "stopping"))
        return self.ready

    def stop(self) -> None:
        """Take nothing more, apply what was taken, note how far judgement came, and close."""
        with self._waiting:
            self._state = "stopping"
            self._waiting.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
        self._note_stop()
        self._journal.close()

    def submit(self, payload: Payload) -> "Future[Outcome]":
        """Queue a payload; the future resolves once it is safe on disk.

        It raises UndecodableError for bytes that cannot be read, NotPermittedError for jobs that
        the sender may not speak for, UnavailableError when the journal cannot be written.
        `submit` itself raises BusyError when the queue is full and UnavailableError before the
        engine is ready.
        """
        future: Future[Outcome] = Future()
        size = len(payload.body)
        with self._waiting:
            if self._state != "running":
                raise UnavailableError(f"the collector is {self._state}")
            if self._queued and self._queued + size > self._queue_bytes:
                raise BusyError(f"{self._queued} bytes wait already")
            self._queued += size
            self._queue.append((payload, future))
            self._waiting.notify()
        return future

    def read(self, question: Callable[[P], T]) -> T:
        """Return the answer of a question to the pipeline, between two changes of it.

        The answer must not refer to what the pipeline goes on changing.
        """
        with self._view:
            return question(self._pipeline)

    def recover(self) -> None:
        """Read the last stretch of the journal again: windows and open incidents come back."""
        count = 0
        for entry in self._journal.latest(self._reread_seconds):
            self._received_ns = max(self._received_ns, entry.at_ns)
            with self._view:
                self._replay(entry)
            count += 1
        self._health.replayed.inc(count)
        if count:
            _LOG.info("journal read again", records=count)

    def step(self) -> None:
        """Take what waits and apply it, judge the seconds that passed, hand on what changed."""
        group = self._take()
        if group:
            self._accept(group)
        # What still waits has no receive time yet, so these seconds are complete.
        self._pass_time()
        self._commit()

    def _run(self) -> None:
        try:
            self.recover()
        except Exception as error:  # noqa: BLE001  better without its past than not
            self._failed("restart", error)
        with self._waiting:
            if self._state == "starting":
                self._state = "running"
            self._waiting.notify_all()
        _LOG.info("engine running")
        while True:
            with self._waiting:
                if not self._queue:
                    if self._state == "stopping":
                        return
                    self._waiting.wait(self._until_next_second())
            try:
                self.step()
            except Exception as error:  # noqa: BLE001  the thread must outlive any defect
                self._failed("engine", error)

    def _until_next_second(self) -> float:
        return 1.01 - self._clock.now() % 1.0

    def _take(self) -> list[tuple[Payload, "Future[Outcome]"]]:
        group = []
        size = 0
        with self._waiting:
            while self._queue and size < _GROUP_BYTES:
                payload, future = self._queue.popleft()
                size += len(payload.body)
                group.append((payload, future))
        return group

    def _accept(self, group: list[tuple[Payload, "Future[Outcome]"]]) -> None:
        taken: list[_Taken] = []
        try:
            for payload, future in group:
                # A sender that went away before we looked sends again: nothing to do for it.
                if not future.set_running_or_notify_cancel():
                    continue
                decoded = self._decode(payload, future)
                if decoded is not None:
                    entry = Entry(payload.kind, self._receive(), payload.body, decoded.layout)
                    taken.append((entry, decoded, future))
            for entry, decoded, _ in self._write(taken):
                with self._view:
                    self._judging.apply(decoded, entry.at)
        finally:
            with self._waiting:
                self._queued -= sum(len(payload.body) for payload, _ in group)
            self._health.queue_bytes.set(self._queued)
            self._lag()

    def _decode(self, payload: Payload, future: "Future[Outcome]") -> Decoded | None:
        """Return what is worth an entry of the journal; answer everything else here."""
        try:
            with self._view:
                decoded = self._decoder.decode(payload)
                permits.check(decoded, payload.jobs, self._pipeline.table)
        except UndecodableError as error:
            self._health.undecodable.inc()
            future.set_exception(error)
            return None
        except permits.NotPermittedError as error:
            future.set_exception(error)
            return None
        except Exception as error:  # noqa: BLE001  the edge of one payload
            self._failed("decode", error)
            future.set_exception(error)
            return None
        self._health.reject(decoded.reason, decoded.rejected)
        if not decoded.accepted:
            future.set_result(Outcome(0, decoded.rejected, decoded.reason))
            return None
        return decoded

    def _receive(self) -> int:
        """Return the receive time of the next entry, in nanoseconds; it never goes back."""
        seconds, part = divmod(self._clock.now(), 1.0)
        self._received_ns = max(
            self._received_ns, int(seconds) * _SECOND_NS + int(part * _SECOND_NS)
        )
        return self._received_ns

    def _write(self, taken: list[_Taken]) -> list[_Taken]:
        """Write entries, answer their senders, and return those that are kept."""
        if not taken:
            return []
        written = self._journal.write([entry for entry, _, _ in taken])
        self._health.journal_bytes.inc(written.bytes)
        for entry, decoded, future in taken[: written.entries]:
            self._health.payloads.labels(entry.kind.name.lower()).inc()
            counter = self._health.events if decoded.metrics is None else self._health.samples
            counter.inc(decoded.accepted)
            future.set_result(Outcome(decoded.accepted, decoded.rejected, decoded.reason))
        if written.failure is not None:
            refused = taken[written.entries :]
            self._health.journal_failures.inc(len(refused))
            why = written.failure.strerror or str(written.failure)
            _LOG.error("the journal cannot be written", error=why, payloads=len(refused))
            for _, _, future in refused:
                future.set_exception(
                    UnavailableError(
                        f"the journal cannot be written: {why}",
                        retry_after_seconds=_REFUSED_SECONDS,
                    )
                )
        return taken[: written.entries]

    def _pass_time(self) -> None:
        now = self._clock.now()
        judged = self._judging.judged
        if judged is None or now < judged + 1:
            return
        with self._view:
            self._judging.until(now)
        # A clock that is set back must not put a later entry before a second already judged.
        self._received_ns = max(self._received_ns, int(now) * _SECOND_NS)
        self._lag()

    def _replay(self, entry: Entry) -> None:
        if entry.kind is Kind.STOP:
            self._judging.until(entry.at)
            return
        try:
            decoded = self._decoder.decode(Payload(entry.kind, entry.body))
        except UndecodableError as error:
            self._failed("decode", error)
            return
        self._judging.apply(decoded, entry.at)

    def _lag(self) -> None:
        judged = self._judging.judged
        if judged is not None:
            self._health.lag_seconds.set(max(0.0, self._clock.now() - judged))

    def _changed(self, changes: Sequence[Any], now: float) -> None:
        self._uncommitted.append((changes, now))

    def _commit(self) -> None:
        """Hand changes to the sink in their order; what fails is tried again at the next step."""
        while self._uncommitted:
            changes, now = self._uncommitted[0]
            try:
                self._sink.commit(changes, now)
            except Exception as error:  # noqa: BLE001  whatever the database raises, we try again
                self._health.store_failures.inc()
                _LOG.error("incident changes not stored yet", error=str(error))
                return
            del self._uncommitted[0]

    def _failed(self, stage: str, error: Exception) -> None:
        self._health.pipeline_failures.labels(stage).inc()
        _LOG.error("a defect was passed over", stage=stage, exc_info=error)

    def _note_stop(self) -> None:
        judged = self._judging.judged
        if judged is None:
            return
        self._received_ns = max(self._received_ns, judged * _SECOND_NS)
        written = self._journal.write([Entry(Kind.STOP, self._received_ns, b"")])
        if written.failure is not None:
            _LOG.warning("the stop could not be noted", error=str(written.failure))
