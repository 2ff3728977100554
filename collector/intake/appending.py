"""The intake's threads: what waits is decoded, appended to the journal, acknowledged, handed on.

Payloads come from any thread. All small ones that wait are written with one fsync, in an order of
receive times that never go back; their senders are answered; evaluation gets them through the tail.
Nothing here waits for evaluation or for the database. Large payloads are decoded by a thread of
their own, and written by the first one: nobody else's payload waits while they are decoded.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace

import structlog

from ...formats.otlp.errors import UndecodableError
from ...vocabulary.clock import Clock
from ..health.defects import DefectLog
from ..health.health import CollectorHealth
from ..journal.entries import JournalEntry
from ..journal.interface import LogPartition, Offset
from ..journal.kinds import PayloadKind
from . import permits
from .decoding import DecoderPool
from .gathering import GroupGathering
from .payloads import DecodedPayload, Payload, PayloadDefectError, PayloadOutcome
from .sender_names import SenderNames
from .tail import EntrySink
from .turns import Waiting
from .waiting import REPAIR_SECONDS, ByteBoundedQueue, DecodedApart, UnavailableError

_LOG = structlog.get_logger(__name__)
_GROUP_BYTES = 256 << 10
"""Small payloads of one fsync: enough to share it among many, decoded in some milliseconds."""
_SECOND_NS = 1_000_000_000
_APART_NS = 1_000
"""Receive times differ by at least so much, which is more than a float of today's dates rounds."""
CHECK_SECONDS = 5.0
"""How often it is checked whether the journal could be written; what was written shows more."""
_NOT_WRITTEN = "the journal cannot be written"

_Taken = tuple[Payload, DecodedPayload, "Future[PayloadOutcome]"]


class IntakeThread:
    """Owns the writing end of the journal. `submit` and `watermark` may be called from anywhere."""

    def __init__(
        self,
        *,
        journal: LogPartition,
        decoders: DecoderPool,
        tail: EntrySink,
        clock: Clock,
        health: CollectorHealth,
        queue_bytes: int = 256 << 20,
        after_ns: int = 0,
        rejected: Callable[[str], None] = lambda _reason: None,
        names: SenderNames | None = None,
        bounded: Callable[[str, str, int], None] = lambda _bound, _of, _count: None,
        gathering: GroupGathering | None = None,
    ) -> None:
        """`after_ns`: receive times begin after this one, the last of an earlier process.

        `rejected` gets why points of a payload were left out, in the decoder's words. `names`
        bounds what one sender may name, None: nothing does. `bounded` gets what was cut or refused:
        by which bound, of whom, how many records or points.
        """
        self._journal = journal
        self._decoders = decoders
        self._large_decoders = decoders.apart()
        self._tail = tail
        self._clock = clock
        self._health = health
        self._rejected = rejected
        self._names = names
        self._bounded = bounded
        self._defects = DefectLog(health=health)
        self._queue = ByteBoundedQueue(queue_bytes)
        self._times = threading.Lock()
        self._received_ns = self._appended_ns = after_ns
        self._writing_ns: int | None = None
        """The first receive time of the group that is being written."""
        self._refusing = False
        self._checked = self._kept = -CHECK_SECONDS
        self._shortage = ""
        self._gathering = gathering or GroupGathering()
        self._threads = [
            threading.Thread(target=self._run, name="intake", daemon=True),
            threading.Thread(target=self._run_large, name="intake-large", daemon=True),
        ]

    @property
    def ready(self) -> bool:
        """Tell whether payloads are taken."""
        return self._queue.state == "running"

    def open(self) -> None:
        """Begin to take payloads, which wait until `step` is called."""
        self._queue.turn("running", only_from="starting")

    def start(self) -> None:
        """Begin to take payloads, and start the threads."""
        self.open()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Take nothing more, and write what was taken."""
        self._queue.turn("stopping")
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def submit(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Queue a payload; the future resolves once it is safe on disk.

        It raises UndecodableError for bytes that cannot be read, NotPermittedError for jobs that
        the sender may not speak for, PayloadDefectError for what no decoder of ours survives, and
        UnavailableError when the journal cannot be written.
        `submit` itself raises BusyError when the queue is full and UnavailableError before the
        start and after the stop.
        """
        return self._queue.put(payload)

    def watermark(self) -> float:
        """Return a time up to which the tail has everything: what comes later is received later."""
        with self._times:
            if self._writing_ns is not None:
                return (self._writing_ns - 1) / _SECOND_NS
            self._received_ns = max(self._received_ns, self._now_ns())
            return self._received_ns / _SECOND_NS

    def note_stop(self, evaluated: int) -> None:
        """Write that evaluation reached this second (and no later one); after `stop`."""
        at_ns = max(self._appended_ns, evaluated * _SECOND_NS)
        written = self._journal.write([JournalEntry(PayloadKind.STOP, at_ns, b"")])
        if written.failure is not None:
            _LOG.warning("the stop could not be written to the journal", error=str(written.failure))

    def step(self) -> None:
        """Take what waits, write it, answer, and hand it on: without the threads."""
        while self._write_small() or self._decode_large() or self._write_large():
            pass

    def _run(self) -> None:
        self._try(self.check)
        while self._queue.wait(CHECK_SECONDS):
            if self.ready:
                self._gathering.pause()
            self._try(self._write_small)
            self._try(self._write_large)
            if time.monotonic() - self._checked >= CHECK_SECONDS:
                self._try(self.check)

    def _run_large(self) -> None:
        while self._queue.wait_large(CHECK_SECONDS):
            self._try(self._decode_large)

    def _write_small(self) -> bool:
        """Decode and write a group of small payloads; False where none waits."""
        group = self._queue.take(_GROUP_BYTES)
        if not group:
            return False
        self._gathering.took(len(group))
        try:
            self._accept([(one, self._decode(one, self._decoders)) for one in group])
        finally:
            _answer_the_rest(group)
            self._queue.release(group)
            self._health.queue_bytes.set(self._queue.bytes)
        return True

    def _decode_large(self) -> bool:
        """Decode one large payload; False where none waits."""
        waiting = self._queue.take_large()
        if waiting is None:
            return False
        decoded = None
        try:
            decoded = self._decode(waiting, self._large_decoders)
        finally:
            self._queue.hand_over((waiting, decoded))
        return True

    def _write_large(self) -> bool:
        """Write one large payload that is decoded; False where there is none."""
        decoded = self._queue.take_decoded()
        if decoded is None:
            return False
        try:
            self._accept([decoded])
        finally:
            _answer_the_rest([decoded[0]])
            self._queue.release_large(decoded[0])
            self._health.queue_bytes.set(self._queue.bytes)
        return True

    def check(self) -> None:
        """Find out whether payloads can be kept; let go of the names of silent senders."""
        self._checked = time.monotonic()
        for decoders in (self._decoders, self._large_decoders):
            decoders.forget_silent()
        try:
            self._shortage = self._journal.check(failed=self._refusing)
        except OSError as error:
            self._shortage = f"{_NOT_WRITTEN} soon: {_why(error)}"
            if self._refusing or self._checked - self._kept >= CHECK_SECONDS:
                self._failed(error)
                return
        self._written()

    def _try(self, step: Callable[[], object]) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001  the thread must outlive any defect
            self._defects.met("intake", error)

    def _accept(self, found: list[DecodedApart]) -> None:
        taken = [
            (payload, decoded, future)
            for (payload, future), decoded in found
            if decoded is not None
        ]
        if not taken:
            return
        entries = self._entries(taken)
        try:
            self._write(taken, entries)
        finally:
            with self._times:
                self._writing_ns = None

    def _decode(self, waiting: Waiting, decoders: DecoderPool) -> DecodedPayload | None:
        """Return what is worth an entry of the journal; answer everything else here."""
        payload, future = waiting
        # A sender that went away before we looked sends again: nothing to do for it.
        if not future.set_running_or_notify_cancel():
            return None
        try:
            decoded = decoders.decode(payload)
        except UndecodableError as error:
            self._health.undecodable.inc()
            future.set_exception(error)
            return None
        except permits.NotPermittedError as error:
            future.set_exception(error)
            return None
        except Exception as error:  # noqa: BLE001  the edge of one payload
            self._defects.met("decode", error)
            future.set_exception(PayloadDefectError(type(error).__name__))
            return None
        decoded = self._within_bounds(payload, decoded)
        if payload.trace is not None:
            decoded = replace(decoded, trace=payload.trace)
        if decoded.rejected:
            self._health.reject(decoded.reason, decoded.rejected)
            self._rejected(decoded.reason)
        if not decoded.accepted:
            future.set_result(PayloadOutcome(0, decoded.rejected, decoded.reason, decoded.written))
            return None
        return decoded

    def _within_bounds(self, payload: Payload, decoded: DecodedPayload) -> DecodedPayload:
        """Return what is taken of a payload: nothing where its sender names too many."""
        if decoded.cut:
            self._bounded("text", _named(decoded), decoded.cut)
        if self._names is None or not (decoded.events or decoded.metrics is not None):
            return decoded
        bound = self._names.refuses(decoded, payload.jobs)
        if bound is None:
            return decoded
        self._bounded(bound, ", ".join(payload.jobs) or "all jobs", decoded.accepted)
        lost = decoded.accepted + decoded.rejected
        why = f"of a payload in which this sender names too many {bound.partition('_')[2]}"
        return DecodedPayload(rejected=lost, reason=f"{_what(decoded)} {why}: {lost}")

    def _entries(self, taken: list[_Taken]) -> list[JournalEntry]:
        """Return the entries with their receive times, which never go back."""
        entries: list[JournalEntry] = []
        with self._times:
            now_ns = self._now_ns()
            for payload, decoded, _ in taken:
                self._received_ns = max(self._received_ns + _APART_NS, now_ns)
                entries.append(
                    JournalEntry(payload.kind, self._received_ns, payload.body, decoded.layout)
                )
            self._writing_ns, self._appended_ns = entries[0].at_ns, entries[-1].at_ns
        return entries

    def _write(self, taken: list[_Taken], entries: list[JournalEntry]) -> None:
        written = self._journal.write(entries)
        kept, refused = taken[: written.entries], taken[written.entries :]
        ends: Sequence[Offset | None] = written.ends or [None] * len(kept)
        self._tail.add(
            [
                (entry.at, decoded, end)
                for entry, (_, decoded, _), end in zip(entries, kept, ends, strict=False)
            ]
        )
        self._count(kept, written.bytes)
        for _, decoded, future in kept:
            future.set_result(
                PayloadOutcome(decoded.accepted, decoded.rejected, decoded.reason, decoded.written)
            )
        if written.failure is not None:
            self._refuse(refused, written.failure)
        else:
            self._kept = time.monotonic()
            self._written()

    def _count(self, kept: list[_Taken], written: int) -> None:
        """Count what a group held."""
        health = self._health
        health.journal_bytes.inc(written)
        for kind, payloads in Counter(payload.kind for payload, _, _ in kept).items():
            health.payloads.labels(kind.name.lower()).inc(payloads)
        samples = sum(one.accepted for _, one, _ in kept if one.metrics is not None)
        health.samples.inc(samples)
        health.events.inc(sum(one.accepted for _, one, _ in kept) - samples)

    def _refuse(self, refused: list[_Taken], failure: OSError) -> None:
        why = self._failed(failure)
        self._health.journal_failures.inc(len(refused))
        for _, _, future in refused:
            future.set_exception(
                UnavailableError(f"{_NOT_WRITTEN}: {why}", retry_after_seconds=REPAIR_SECONDS)
            )

    def _failed(self, failure: OSError) -> str:
        """Note that nothing can be written; return why."""
        why = _why(failure)
        if not self._refusing:
            self._refusing = True
            _LOG.error("the journal cannot be written, senders keep what they have", error=why)
        self._health.journal_answered(f"{_NOT_WRITTEN}: {why}")
        return why

    def _written(self) -> None:
        """Note that payloads can be kept."""
        if self._refusing:
            self._refusing = False
            _LOG.info("the journal can be written again")
        self._health.journal_answered(warning=self._shortage)

    def _now_ns(self) -> int:
        seconds, part = divmod(self._clock.now(), 1.0)
        return int(seconds) * _SECOND_NS + int(part * _SECOND_NS)


def _why(failure: OSError) -> str:
    return failure.strerror or str(failure)


def _what(decoded: DecodedPayload) -> str:
    return "records" if decoded.metrics is None else "points"


def _named(decoded: DecodedPayload) -> str:
    """Return whom the events of a payload are of: the job of the first, or its host."""
    for event in decoded.events:
        return event.resource.job or event.resource.host
    return ""


def _answer_the_rest(group: list[Waiting]) -> None:
    """Leave no sender without an answer, whatever went wrong before it got one."""
    for _, future in group:
        if not future.done():
            future.set_exception(UnavailableError("a defect of the collector"))
