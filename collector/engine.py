"""The one thread that owns journal and pipeline: acknowledge after fsync, apply in that order.

Intake hands payloads in from any thread. The engine takes what waits, gives each a receive time
that never goes back, writes all of it with one fsync, answers, and only then applies. Evaluation of
a second happens when every payload received before it has been applied. `replay` of the journal
therefore makes the same calls with the same times.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

import structlog

from ..formats.otlp.errors import UndecodableError
from ..vocabulary.clock import Clock
from .commits import Commits, Sink
from .defects import Defects
from .evaluation import Evaluation, Evaluator
from .health import Health
from .intake import permits
from .intake.decoding import Decoder
from .intake.payloads import Decoded, Outcome, Payload
from .intake.waiting import Queue, UnavailableError, Waiting
from .journal.entries import Entry
from .journal.journal import Written
from .journal.kinds import Kind

T = TypeVar("T")
P = TypeVar("P", bound=Evaluator)

_LOG = structlog.get_logger(__name__)
_GROUP_BYTES = 16 << 20
"""Payloads of one fsync: enough to share it among many, few enough that nobody waits long."""
_REFUSED_SECONDS = 10
"""When senders may try again after the disk refused: it does not heal within a second."""
_SECOND_NS = 1_000_000_000

_Taken = tuple[Entry, Decoded, "Future[Outcome]"]


class Journal(Protocol):
    """What the engine needs of a journal."""

    def write(self, entries: Sequence[Entry]) -> Written:
        """Append the entries, make them durable, and say how many are."""
        ...

    def latest(self, seconds: float) -> Iterable[Entry]:
        """Yield the entries of the last time range, in order of writing."""
        ...

    def close(self) -> None:
        """Close the files."""
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
        self._clock = clock
        self._health = health
        self._reread_seconds = reread_seconds
        self._queue = Queue(queue_bytes)
        self._commits = Commits(sink, health=health)
        self._defects = Defects(health=health)
        self._decoder = Decoder(pipeline.table)
        self._judging = Evaluation(
            pipeline,
            changed=self._commits.add,
            failed=self._defects.met,
            took=health.evaluation_seconds.observe,
        )
        self._received_ns = 0
        self._refusing = False
        self._view = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    @property
    def ready(self) -> bool:
        """Tell whether payloads are taken: what was before is read, and it is not stopping."""
        return self._queue.state == "running"

    def start(self) -> None:
        """Start the thread; it first reads the last time range of the journal again."""
        self._thread.start()

    def wait_ready(self) -> bool:
        """Wait until payloads are taken; False when it was stopped before."""
        return self._queue.wait_running()

    def stop(self) -> None:
        """Take nothing more, apply what was taken, note how far evaluation came, and close."""
        self._queue.turn("stopping")
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
        return self._queue.put(payload)

    def read(self, question: Callable[[P], T]) -> T:
        """Return the answer of a question to the pipeline, between two changes of it.

        The answer must not refer to what the pipeline goes on changing.
        """
        with self._view:
            return question(self._pipeline)

    def recover(self) -> None:
        """Read the last time range of the journal again, and begin to take payloads.

        Windows and open incidents come back; the store passes over the changes that it has.
        """
        count = 0
        try:
            for entry in self._journal.latest(self._reread_seconds):
                self._received_ns = max(self._received_ns, entry.at_ns)
                with self._view:
                    self._apply_again(entry)
                count += 1
        except Exception as error:  # noqa: BLE001  better without all of its past than not at all
            self._defects.met("restart", error)
        self._commits.flush()
        self._health.replayed.inc(count)
        self._queue.turn("running", only_from="starting")
        _LOG.info("engine running", journal_records_read_again=count)

    def step(self) -> None:
        """Take what waits and apply it, evaluate the seconds that passed, hand on what changed."""
        group = self._queue.take(_GROUP_BYTES)
        if group:
            self._accept(group)
        # What still waits has no receive time yet, so these seconds are complete.
        self._pass_time()
        self._commits.flush()

    def _run(self) -> None:
        self.recover()
        while self._queue.wait(1.01 - self._clock.now() % 1.0):
            try:
                self.step()
            except Exception as error:  # noqa: BLE001  the thread must outlive any defect
                self._defects.met("engine", error)

    def _accept(self, group: list[Waiting]) -> None:
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
            _answer_the_rest(group)
            self._queue.release(group)
            self._health.queue_bytes.set(self._queue.bytes)

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
            self._defects.met("decode", error)
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
        now_ns = int(seconds) * _SECOND_NS + int(part * _SECOND_NS)
        self._received_ns = max(self._received_ns, now_ns)
        return self._received_ns

    def _write(self, taken: list[_Taken]) -> list[_Taken]:
        """Write entries, answer their senders, and return those that are kept."""
        if not taken:
            return []
        written = self._journal.write([entry for entry, _, _ in taken])
        kept, refused = taken[: written.entries], taken[written.entries :]
        self._health.journal_bytes.inc(written.bytes)
        for entry, decoded, future in kept:
            self._health.payloads.labels(entry.kind.name.lower()).inc()
            counter = self._health.events if decoded.metrics is None else self._health.samples
            counter.inc(decoded.accepted)
            future.set_result(Outcome(decoded.accepted, decoded.rejected, decoded.reason))
        if written.failure is not None:
            self._refuse(refused, written.failure)
        elif self._refusing:
            self._refusing = False
            _LOG.info("the journal can be written again")
        return kept

    def _refuse(self, refused: list[_Taken], failure: OSError) -> None:
        why = failure.strerror or str(failure)
        self._health.journal_failures.inc(len(refused))
        if not self._refusing:
            self._refusing = True
            _LOG.error("the journal cannot be written, senders keep what they have", error=why)
        for _, _, future in refused:
            future.set_exception(
                UnavailableError(
                    f"the journal cannot be written: {why}", retry_after_seconds=_REFUSED_SECONDS
                )
            )

    def _pass_time(self) -> None:
        now = self._clock.now()
        evaluated = self._judging.evaluated
        if evaluated is None:
            return
        if now >= evaluated + 1:
            with self._view:
                self._judging.until(now)
            # A clock that is set back must not put a later entry before a second already evaluated.
            self._received_ns = max(self._received_ns, int(now) * _SECOND_NS)
        self._health.lag_seconds.set(max(0.0, self._clock.now() - (self._judging.evaluated or now)))

    def _apply_again(self, entry: Entry) -> None:
        if entry.kind is Kind.STOP:
            self._judging.until(entry.at)
            return
        try:
            decoded = self._decoder.decode(Payload(entry.kind, entry.body))
        except UndecodableError as error:
            self._defects.met("decode", error)
            return
        self._judging.apply(decoded, entry.at)

    def _note_stop(self) -> None:
        evaluated = self._judging.evaluated
        if evaluated is None:
            return
        self._received_ns = max(self._received_ns, evaluated * _SECOND_NS)
        written = self._journal.write([Entry(Kind.STOP, self._received_ns, b"")])
        if written.failure is not None:
            _LOG.warning("the stop could not be noted", error=str(written.failure))


def _answer_the_rest(group: list[Waiting]) -> None:
    """Leave no sender without an answer, whatever went wrong before it got one."""
    for _, future in group:
        if not future.done():
            future.set_exception(UnavailableError("a defect of the collector"))
