"""The writing end of the shared log: accepted payloads, divided and published, kept by a quorum."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence

import structlog

from ...alerts.shared.messages import Message, pack
from ...formats.otlp.errors import UndecodableError
from ..journal.entries import JournalEntry
from ..journal.interface import AppendOutcome, Offset
from ..journal.kinds import PayloadKind
from . import messages, names
from .acknowledging import AcknowledgedPublisher, Outgoing
from .connection import ERRORS, LogUnavailableError, NatsConnection
from .in_stream import InStream
from .routing import PayloadRouter

_LOG = structlog.get_logger(__name__)
_TRY_SECONDS = 2.0
_WRITE_SECONDS = 6.0
"""For so long a payload is tried: a stream whose leader died has another within some seconds."""
_AGAIN_SECONDS = 0.2


class PartitionPublisher:
    """Publishes to partitions. Safe to use from any thread."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self._acknowledged: AcknowledgedPublisher | None = None
        """Made on the connection's loop, once there is a client."""

    def publish(self, partition: int, kind: PayloadKind, body: bytes) -> None:
        """Publish one entry; return when it is kept. Raises LogUnavailableError."""
        found = self.publish_all([(partition, kind, body)])[0]
        if found is not None:
            raise found

    def publish_all(
        self, entries: Sequence[tuple[int, PayloadKind, bytes]]
    ) -> list[LogUnavailableError | None]:
        """Publish (partition, kind, body); return for each None once it is kept, or why not."""
        if not self._connection.up:
            return [LogUnavailableError("NATS is away") for _ in entries]
        work = self._all(entries, time.monotonic() + _WRITE_SECONDS)
        try:
            return self._connection.call(work, _WRITE_SECONDS + 2 * _TRY_SECONDS)
        except TimeoutError:
            return [LogUnavailableError("NATS does not answer") for _ in entries]

    def post(self, partition: int, message: Message) -> None:
        """Publish what a partition has for another one, some time: it is repeated while it holds.

        The same message is kept once.
        """
        if self._connection.up:
            end = time.monotonic() + _WRITE_SECONDS
            self._connection.spawn(self._all([(partition, PayloadKind.SHARED, pack(message))], end))

    async def _all(
        self, entries: Sequence[tuple[int, PayloadKind, bytes]], end: float
    ) -> list[LogUnavailableError | None]:
        """Publish what is not kept again and again: under the same id, it is kept once."""
        found: list[LogUnavailableError | None] = [None] * len(entries)
        waiting: dict[int, Outgoing] = {}
        for number, (partition, kind, body) in enumerate(entries):
            packed, headers = messages.packed(kind, body)
            if len(packed) > self._connection.most_bytes - 4096:
                found[number] = LogUnavailableError(
                    f"a payload of {len(packed)} bytes is more than max_payload of the NATS server"
                )
            else:
                waiting[number] = names.subject(partition), packed, headers
        while waiting:
            for number, why in zip([*waiting], await self._tried([*waiting.values()]), strict=True):
                if why is None:
                    found[number] = None
                    del waiting[number]
                else:
                    found[number] = LogUnavailableError(why)
            if not waiting or time.monotonic() > end or not self._connection.up:
                break
            await asyncio.sleep(_AGAIN_SECONDS)
        return found

    async def _tried(self, outgoing: Sequence[Outgoing]) -> list[str | None]:
        try:
            if self._acknowledged is None:
                self._acknowledged = AcknowledgedPublisher(self._connection.client)
            return await self._acknowledged.publish(outgoing, _TRY_SECONDS)
        except ERRORS as error:
            return [str(error) or "NATS does not answer"] * len(outgoing)


class PublishedLog(InStream):
    """What the intake writes to in the place of files. It is read elsewhere, by partition."""

    def __init__(self, publisher: PartitionPublisher, router: PayloadRouter) -> None:
        self._publisher = publisher
        self._router = router

    def write(self, entries: Sequence[JournalEntry]) -> AppendOutcome:
        """Publish the entries, and say how many of them are kept whole."""
        parts: list[tuple[int, PayloadKind, bytes]] = []
        numbers: list[int] = []
        for number, entry in enumerate(entries):
            for partition, body in self._divided(entry).items():
                parts.append((partition, entry.kind, body))
                numbers.append(number)
        size = sum(len(body) for _, _, body in parts)
        kept, failure = len(entries), None
        for number, failed in zip(numbers, self._publisher.publish_all(parts), strict=True):
            if failed is not None and number < kept:
                kept, failure = number, failed
        return AppendOutcome(kept, size, failure)

    def _divided(self, entry: JournalEntry) -> Mapping[int, bytes]:
        try:
            return self._router.split(entry.kind, entry.body)
        except UndecodableError as error:
            # It was decoded, so some of it is worth keeping, whatever cannot be taken apart.
            _LOG.warning("a payload is kept whole: it cannot be divided", error=str(error))
            return {0: entry.body}

    def read(self, after: Offset | None) -> Iterator[tuple[JournalEntry, Offset]]:
        """Yield nothing: whoever owns a partition reads it."""
        del after
        return iter(())

    def latest(self, seconds: float) -> Iterator[tuple[JournalEntry, Offset]]:
        """Yield nothing, likewise."""
        del seconds
        return iter(())

    def holds(self, offset: Offset) -> bool:
        """Return False: it has no offsets."""
        del offset
        return False
