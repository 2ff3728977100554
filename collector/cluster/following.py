"""The newest entries of a partition as they come, in the place of the intake's tail.

A coroutine fetches; the partition's evaluation takes and decodes. Time goes by the log: the owner
publishes an entry of kind TIME each second, so that evaluation needs no clock of its own, and a
replay of the stream evaluates the same seconds with the same entries. Evaluation does nothing with
an entry before its second has ended, so all of a second are fetched together, with its TIME.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

import structlog

from ...formats.otlp.errors import UndecodableError
from ...vocabulary.clock import Clock
from ..evaluation.schedule import QUIET_SECONDS
from ..intake.decoding import DecoderPool
from ..intake.numbered import NumberedEntries
from ..intake.payloads import DecodedPayload, Payload
from ..intake.tail import TailItem
from ..journal.entries import JournalEntry
from ..journal.interface import Offset
from ..journal.kinds import PayloadKind
from . import messages, names
from .connection import ERRORS, NatsConnection
from .partition_log import Aside, entries
from .reading import StreamReader

_LOG = structlog.get_logger(__name__)
_FETCH_SECONDS = 1.0
_PAUSE_SECONDS = 0.05
_SECOND_NS = 1_000_000_000
_ENTRY_BYTES = 500
_LATE_SECONDS = 0.005
"""How long after a whole second its entry of TIME is published: not before it, by any rounding."""
_APART_SECONDS, _TURNS = 0.01, 25
"""Partitions have their TIME one after another: evaluated at once, they would take the interpreter
from each other all the time, which costs as much as evaluation."""


class PartitionFollower(NumberedEntries):
    """Entries after an offset, in order. One thread takes; `begin` and `stop` may be others."""

    def __init__(
        self,
        connection: NatsConnection,
        partition: int,
        *,
        clock: Clock,
        decode: Callable[[Payload], DecodedPayload],
        aside: Aside,
        max_bytes: int,
    ) -> None:
        super().__init__()
        self._connection = connection
        self._partition = partition
        self._clock = clock
        self._decode = decode
        self._aside = aside
        self._max_bytes = max_bytes
        self._items: deque[tuple[JournalEntry, Offset]] = deque()
        self._dropped = 0
        self._first: TailItem | None = None
        self._at_ns = 0
        self._payload_ns = 0
        self.ahead_seconds: float | None = None
        """How far the clock of JetStream is ahead of this one, None before it is known."""
        self.pending = 0
        """Messages of the stream that were not fetched yet, when last fetched."""
        self._tasks: list[Future[None]] = []
        self._second_over = asyncio.Event()
        self._published = 0, 0.0
        """The newest entry of TIME that was published here: its sequence, and when, here."""

    @property
    def quiet(self) -> bool:
        """Tell whether nothing was received for so long that time stands."""
        return self._at_ns - self._payload_ns > QUIET_SECONDS * _SECOND_NS or not self._payload_ns

    def begin(self, after: Offset | None) -> None:
        """Fetch what comes after an offset, and publish the time."""
        self._at_ns, sequence = messages.place(after)
        self._payload_ns = self._at_ns
        self._tasks = [
            self._connection.spawn(self._fetch(sequence)),
            self._connection.spawn(self._tick()),
        ]

    def stop(self) -> None:
        """Fetch and publish no more."""
        for task in self._tasks:
            task.cancel()

    def watermark(self) -> float:
        """Return a time up to which everything is here."""
        return self._at_ns / _SECOND_NS

    def first(self) -> TailItem | None:
        """Return the oldest entry held, decoded; None when none is."""
        if self._first is None:
            with self._changed:
                if not self._items:
                    return None
                entry, end = self._items[0]
            self._first = TailItem(self._dropped, entry.at, self._decoded(entry, end), end)
        return self._first

    def drop(self) -> None:
        """Drop the oldest entry held."""
        with self._changed:
            entry, _ = self._items.popleft()
            self._bytes -= _ENTRY_BYTES + len(entry.body)
            self._dropped += 1
        self._first = None

    def _decoded(self, entry: JournalEntry, end: Offset) -> DecodedPayload | None:
        """Return what an entry holds; None where only time goes on."""
        if entry.kind in (PayloadKind.TIME, PayloadKind.STOP):
            return None
        try:
            return self._decode(Payload(entry.kind, entry.body))
        except UndecodableError as error:
            packed, headers = messages.packed(entry.kind, entry.body, identity=False)
            self._aside(messages.StreamMessage(end[1], entry.at_ns, headers, packed, 0), error)
            return None

    async def _fetch(self, sequence: int) -> None:
        stream = names.stream(self._partition)
        reader = StreamReader(self._connection, stream, after=sequence, ahead=False)
        try:
            while True:
                if self._bytes > self._max_bytes:
                    await asyncio.sleep(_PAUSE_SECONDS)
                    continue
                try:
                    found = await reader.fetch(_FETCH_SECONDS)
                    if found:
                        self._add(found)
                    if not found or not self.pending:
                        await self._second_over.wait()
                        self._second_over.clear()
                except ERRORS as error:
                    _LOG.debug("a partition cannot be read", error=str(error))
                    await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            await reader.close()

    def _add(self, found: list[messages.StreamMessage]) -> None:
        taken = list(entries(found, self._at_ns, self._aside))
        with self._changed:
            for entry, end in taken:
                self._items.append((entry, end))
                self._bytes += _ENTRY_BYTES + len(entry.body)
                self._added += 1
                if entry.kind not in (PayloadKind.TIME, PayloadKind.SHARED):
                    self._payload_ns = entry.at_ns
                sequence, at = self._published
                if end[1] == sequence:
                    self.ahead_seconds = entry.at_ns / _SECOND_NS - at
            self._at_ns = taken[-1][0].at_ns
            self.pending = found[-1].pending
            self._changed.notify_all()

    async def _tick(self) -> None:
        """Publish the time each whole second, as long as anything was received lately."""
        subject = names.subject(self._partition)
        body, headers = messages.packed(PayloadKind.TIME, b"", identity=False)
        late = _LATE_SECONDS + self._partition % _TURNS * _APART_SECONDS
        while True:
            # Whole seconds are those of JetStream.
            now = self._clock.now() + (self.ahead_seconds or 0.0)
            await asyncio.sleep(math.floor(now) + 1 + late - now)
            if not self.quiet:
                at = self._clock.now()
                try:
                    kept = await self._connection.js.publish(
                        subject, body, timeout=1.0, headers=dict(headers)
                    )
                    self._published = kept.seq, at
                except ERRORS as error:
                    _LOG.debug("the time cannot be published", error=str(error))
            self._second_over.set()


def decoding(decoders: DecoderPool) -> Callable[[Payload], DecodedPayload]:
    """Return a function that decodes, and to which a defect of the decoder is the payload's."""

    def decode(payload: Payload) -> DecodedPayload:
        try:
            return decoders.decode(payload)
        except UndecodableError:
            raise
        except Exception as error:
            raise UndecodableError(f"the decoder failed: {error!r}") from error

    return decode
