"""One partition of the shared log, for whoever owns it: read, replayed, and its decisions."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from nats.js.errors import APIError, NotFoundError

from ...formats.otlp.errors import UndecodableError
from ..journal.entries import JournalEntry
from ..journal.interface import AppendOutcome, Offset
from ..journal.kinds import PayloadKind
from . import messages, names
from .connection import ERRORS, LogUnavailableError, NatsConnection
from .in_stream import InStream
from .messages import StreamMessage
from .reading import StreamReader
from .streams import state

_SECONDS = 5.0
_FETCH_SECONDS = 1.0
_AWAY_SECONDS = 60.0
"""After so long without an answer reading ends with an error."""
_SECOND_NS = 1_000_000_000

Aside = Callable[[StreamMessage, Exception], None]


def _ignore(_message: StreamMessage, _error: Exception) -> None:
    """Take no notice."""


def entries(
    found: Sequence[StreamMessage], at_ns: int, aside: Aside = _ignore
) -> Iterator[tuple[JournalEntry, Offset]]:
    """Yield the entries of messages after one received at `at_ns`, each with the offset after it.

    A message that is none of ours is given to `aside`; at its place time goes on.
    """
    for message in found:
        try:
            entry = messages.entry(message, at_ns)
        except UndecodableError as error:
            aside(message, error)
            entry = JournalEntry(
                PayloadKind.TIME, messages.received_ns(message.taken_ns, at_ns), b""
            )
        at_ns = entry.at_ns
        yield entry, messages.offset(at_ns, message.sequence)


def _read(
    connection: NatsConnection,
    reader: StreamReader,
    last: int,
    at_ns: int,
    sequence: int,
    *,
    closed: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[JournalEntry, Offset]]:
    """Yield the entries after `sequence`, which was received at `at_ns`, up to the last one.

    A server that dies takes its consumers along, and one that starts refuses for a moment: it is
    asked again. Raises LogUnavailableError after so long without an answer, and where it is closed.
    """
    answered = time.monotonic()
    try:
        while sequence < last:
            if closed():
                raise LogUnavailableError("the log is closed")
            try:
                batch = connection.call(reader.fetch(_FETCH_SECONDS), _SECONDS)
            except ERRORS as error:
                if time.monotonic() - answered > _AWAY_SECONDS:
                    raise LogUnavailableError(str(error) or "NATS does not answer") from None
                time.sleep(0.1)
                continue
            if not batch and time.monotonic() - answered > _AWAY_SECONDS:
                raise LogUnavailableError(f"{reader.stream} does not give its messages")
            for entry, end in entries(batch, at_ns):
                answered = time.monotonic()
                at_ns, sequence = entry.at_ns, end[1]
                if sequence > last:
                    return
                yield entry, end
    finally:
        if connection.up:
            connection.spawn(reader.close())


class PartitionLog:
    """The payloads of one partition. Implements `journal.interface.Partition` for its owner."""

    def __init__(self, connection: NatsConnection, partition: int) -> None:
        self._connection = connection
        self._stream = names.stream(partition)
        self._closed = False

    def write(self, entries: Sequence[JournalEntry]) -> AppendOutcome:
        """Refuse: payloads are published by `publishing`."""
        return AppendOutcome(0, 0, OSError(0, "payloads are published") if entries else None)

    def read(self, after: Offset | None) -> Iterator[tuple[JournalEntry, Offset]]:
        """Yield the entries after an offset up to the newest of now. Raises LogUnavailableError."""
        at_ns, sequence = messages.place(after)
        return self._read(
            StreamReader(self._connection, self._stream, after=sequence), at_ns, sequence
        )

    def range(self, start_ns: int, end_ns: int) -> Iterator[JournalEntry]:
        """Yield the entries that JetStream took in [start_ns, end_ns]."""
        reader = StreamReader(self._connection, self._stream, since_ns=start_ns or None)
        for entry, _ in self._read(reader, 0, 0):
            if entry.at_ns > end_ns:
                return
            if entry.at_ns >= start_ns:
                yield entry

    def latest(self, seconds: float) -> Iterator[tuple[JournalEntry, Offset]]:
        """Yield the entries of the last time range, counted from the newest entry."""
        newest = self.last_at_ns()
        if newest is None:
            return iter(())
        since = newest - int(seconds * _SECOND_NS)
        return self._read(StreamReader(self._connection, self._stream, since_ns=since), 0, 0)

    def holds(self, offset: Offset) -> bool:
        """Tell whether nothing after this offset has been trimmed, and it can be one of ours."""
        found = self._state()
        return found["first_seq"] - 1 <= offset[1] <= found["last_seq"]

    def check(self, *, failed: bool) -> str:
        """Return "": payloads are published by `publishing`."""
        del failed
        return ""

    def last_at_ns(self) -> int | None:
        """Return when JetStream took the newest entry, None where there is none."""
        found = self._state()
        return _nanoseconds(str(found["last_ts"])) if found["messages"] else None

    def first_at_ns(self) -> int | None:
        """Return when JetStream took the oldest entry that is held, None where there is none."""
        found = self._state()
        return _nanoseconds(str(found["first_ts"])) if found["messages"] else None

    def trim(self, now: float) -> int:
        """Return the bytes that are held: the stream trims itself."""
        del now
        return self._state()["bytes"]

    def close(self) -> None:
        """Read no more: whoever reads in another thread is told so."""
        self._closed = True

    def _state(self) -> dict[str, int]:
        try:
            return self._connection.call(state(self._connection, self._stream), _SECONDS)
        except ERRORS as error:
            raise LogUnavailableError(str(error) or "NATS does not answer") from None

    def _read(
        self, reader: StreamReader, at_ns: int, sequence: int
    ) -> Iterator[tuple[JournalEntry, Offset]]:
        found = self._state()
        last = found["last_seq"] if found["messages"] else 0
        return _read(self._connection, reader, last, at_ns, sequence, closed=lambda: self._closed)


class DecisionStream(InStream):
    """What evaluation of one partition decided under load. Only one owner at a time can write.

    Each write names the sequence that it follows, so that an owner which was replaced while it
    slept cannot write any more. It has an id of its own too: JetStream looks at the sequence first
    (2.15.1), so that what is sent again because its answer was lost is refused, as a stranger's is.
    """

    def __init__(self, connection: NatsConnection, partition: int) -> None:
        self._connection = connection
        self._subject = names.decisions(partition)
        self._last = 0
        self._unanswered = ""

    def claim(self) -> None:
        """Shut out whoever owned the partition before."""
        self._last, _ = self._connection.call(self._newest(), _SECONDS)
        written = self.write([JournalEntry(PayloadKind.TIME, 0, b"")])
        if written.failure is not None:
            raise written.failure

    def write(self, entries: Sequence[JournalEntry]) -> AppendOutcome:
        """Write the entries after the newest that this owner has seen, or none."""
        for number, entry in enumerate(entries):
            packed, headers = messages.packed(entry.kind, entry.body, identity=False)
            try:
                self._find_unanswered()
                self._publish(packed, headers)
            except (APIError, *ERRORS) as error:
                return AppendOutcome(number, 0, LogUnavailableError(str(error)))
        return AppendOutcome(len(entries), 0)

    def _publish(self, packed: bytes, headers: messages.Headers) -> None:
        headers["Nats-Expected-Last-Subject-Sequence"] = str(self._last)
        headers[messages.ID] = identity = uuid.uuid4().hex
        try:
            work = self._connection.js.publish(self._subject, packed, headers=dict(headers))
            self._last = self._connection.call(work, _SECONDS).seq
            self._unanswered = ""
        except ERRORS:
            self._unanswered = identity
            if not self._find_unanswered():
                raise

    def _find_unanswered(self) -> bool:
        """Tell whether a write that had no answer is the newest of all; go on after it if so."""
        if not self._unanswered:
            return False
        sequence, identity = self._connection.call(self._newest(), _SECONDS)
        if identity != self._unanswered:
            return False  # it did not arrive, or not yet
        self._last, self._unanswered = sequence, ""
        return True

    def read(self, after: Offset | None) -> Iterator[tuple[JournalEntry, Offset]]:
        last, _ = self._connection.call(self._newest(), _SECONDS)
        at_ns, sequence = messages.place(after)
        reader = StreamReader(
            self._connection, names.DECISIONS, after=sequence, subject=self._subject
        )
        return _read(self._connection, reader, last, at_ns, sequence)

    def latest(self, seconds: float) -> Iterator[tuple[JournalEntry, Offset]]:
        """Yield every decision: they are few."""
        del seconds
        return self.read(None)

    def holds(self, offset: Offset) -> bool:
        """Return True: nobody resumes here."""
        del offset
        return True

    async def _newest(self) -> tuple[int, str]:
        """Return the sequence and the id of the newest decision, 0 where there is none."""
        try:
            found = await self._connection.js.get_last_msg(names.DECISIONS, self._subject)
        except NotFoundError:
            return 0, ""
        return int(found.seq or 0), (found.headers or {}).get(messages.ID, "")


def _nanoseconds(text: str) -> int:
    """Return RFC 3339 with up to nine digits as nanoseconds since the epoch."""
    whole, _, part = text.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp())
    return seconds * _SECOND_NS + int(part.ljust(9, "0")[:9] or 0)
