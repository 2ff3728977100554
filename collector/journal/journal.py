"""A partition of the journal as files: one fsync a group of entries, and read back in order."""

import contextlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import structlog

from ...formats import segments
from ..settings.journal import JournalSettings
from . import columns, room, stored
from .entries import JournalEntry
from .interface import AppendOutcome, Offset
from .kinds import METRICS_COLUMNS, METRICS_TEMPLATE

_LOG = structlog.get_logger(__name__)
_DAY_SECONDS = 86_400.0
_SECOND_NS = 1_000_000_000
_HEADER_BYTES = 64
"""More than stands before the payload of a record in a file."""


class FileJournal:
    """The segments of one folder, which it locks. One thread writes, any thread reads and trims.

    Raises segments.LockedError when another process writes there already, OSError when the folder
    cannot be used.
    """

    def __init__(self, folder: Path, settings: JournalSettings) -> None:
        self._folder = folder
        self._settings = settings
        self._templates = columns.SegmentTemplates()
        self._writer: segments.SegmentWriter | None = self._open()

    def write(self, entries: Sequence[JournalEntry]) -> AppendOutcome:
        """Append the entries, make them durable, and say how many are."""
        durable = done = size = 0
        failure: OSError | None = None
        ends: list[Offset] = []
        try:
            if self._writer is None:
                self._writer = self._open()
            for entry in entries:
                file = self._writer.writing
                size += self._append(self._writer, entry)
                if self._writer.writing != file:
                    # Another file began, so the one before it was full and is on the disk.
                    durable = done
                ends.append(self._writer.position)
                done += 1
        except FileNotFoundError as error:
            self._abandon()
            return AppendOutcome(0, 0, error)
        except OSError as error:
            failure = error
        except segments.LockedError as error:
            return AppendOutcome(0, 0, OSError(0, str(error)))
        if self._writer is None or not entries:
            return AppendOutcome(0, 0, failure)
        try:
            self._writer.sync()
        except OSError as error:
            # What the kernel could not write it may have forgotten: this file is not to be
            # trusted any more, and nothing is to stand behind a gap.
            self._abandon()
            return AppendOutcome(durable, size, error, ends[:durable])
        return AppendOutcome(done, size, failure, ends)

    def read(self, after: Offset | None) -> Iterator[tuple[JournalEntry, Offset]]:
        """Yield the entries after an offset, each with the offset after it, up to the end.

        Damage costs the rest of its segment and is logged: who reads takes what there is.
        """
        for file in segments.segments(self._folder):
            if after is None or file.name >= after[0]:
                yield from _undamaged(file, after)

    def latest(self, seconds: float) -> Iterator[tuple[JournalEntry, Offset]]:
        """Yield the entries of the last time range, counted from the newest entry.

        Damage costs the rest of its segment and is logged: a restart takes what it can get.
        """
        files = segments.segments(self._folder)
        newest_ns = None
        start = len(files)
        while newest_ns is None and start > 0:
            start -= 1
            for entry, _ in _undamaged(files[start]):
                newest_ns = entry.at_ns
        if newest_ns is None:
            return
        since_ns = newest_ns - int(seconds * _SECOND_NS)
        while start > 0 and not _begins_before(files[start], since_ns):
            start -= 1
        for file in files[start:]:
            for entry, end in _undamaged(file):
                if entry.at_ns >= since_ns:
                    yield entry, end

    def holds(self, offset: Offset) -> bool:
        """Tell whether nothing after this offset has been trimmed, and it can be one of ours."""
        files = segments.segments(self._folder)
        return any(file.name == offset[0] and file.stat().st_size >= offset[1] for file in files)

    def last_at_ns(self) -> int | None:
        """Return the receive time of the newest entry, None where there is none."""
        for file in reversed(segments.segments(self._folder)):
            newest = segments.last_at_ns(file)
            if newest is not None:
                return newest
        return None

    def check(self, *, failed: bool) -> str:
        """Return what will soon be short, "" where nothing is.

        A folder that was taken away is begun anew. Raises OSError where nothing could be written
        now.
        """
        try:
            if self._writer is not None:
                self._writer.check()
        except FileNotFoundError as error:
            self._abandon()
            _LOG.error("the journal was taken away; another is begun", error=str(error))
        try:
            if self._writer is None:
                self._writer = self._open()
        except segments.LockedError as error:
            raise OSError(0, str(error)) from error
        if failed:
            room.try_out(self._folder)
        return room.check(
            self._folder,
            file_open=self._writer.writing is not None,
            segment_bytes=self._settings.segment_bytes,
        )

    def trim(self, now: float) -> int:
        """Let go of segments beyond the age or the size kept; return the bytes that are left."""
        segments.trim(
            self._folder,
            max_bytes=self._settings.keep_bytes,
            max_age_seconds=self._settings.keep_days * _DAY_SECONDS,
            now=now,
        )
        return segments.size(self._folder)

    def close(self) -> None:
        """Make everything durable, and let go of the folder."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _append(self, writer: segments.SegmentWriter, entry: JournalEntry) -> int:
        """Append one entry, as columns where its segment has their template."""
        kind, payload = int(entry.kind), entry.body
        fresh = None
        if (layout := entry.layout) is not None:
            template = self._templates.known(layout)
            if template is not None:
                in_columns = template.columns(entry.body)
                if len(in_columns) + _HEADER_BYTES <= writer.left:
                    return writer.append(METRICS_COLUMNS, entry.at_ns, in_columns)
            # Not in this segment, or this record is going to begin the next one.
            fresh = self._templates.fresh(layout, entry.body)
            if fresh is not None:
                kind, payload = METRICS_TEMPLATE, fresh.pack()
        before = writer.writing
        size = writer.append(kind, entry.at_ns, payload)
        if writer.writing != before:
            self._templates.clear()
        if layout is not None and fresh is not None:
            self._templates.add(layout, fresh)
        return size

    def _open(self) -> segments.SegmentWriter:
        return segments.SegmentWriter(
            self._folder, segment_bytes=self._settings.segment_bytes, codec="zstd"
        )

    def _abandon(self) -> None:
        """Close the file; the next write begins another."""
        writer, self._writer = self._writer, None
        self._templates.clear()
        try:
            if writer is not None:
                with contextlib.suppress(OSError):
                    writer.drop_unsynced()
                writer.close()
        except OSError as error:
            _LOG.warning("a segment could not be closed cleanly", error=str(error))


def read(place: Path) -> Iterator[JournalEntry]:
    """Yield the entries of a folder or of one segment. Raises segments.SegmentError for damage.

    A record cut off at the end of a file is what a crash leaves, and was never acknowledged.
    """
    return (entry for entry, _ in _read(place, None))


def between(
    folder: Path, start_ns: int, end_ns: int, *, chosen: stored.Chosen = stored.every
) -> Iterator[JournalEntry]:
    """Yield the entries with a receive time in [start_ns, end_ns], while another process writes.

    Damage costs the rest of its segment and is logged. See `stored_between` for `chosen`.
    """
    for one in stored_between(folder, start_ns, end_ns, chosen=chosen):
        yield one.entry()


def stored_between(
    folder: Path, start_ns: int, end_ns: int, *, chosen: stored.Chosen = stored.every
) -> Iterator[stored.StoredEntry]:
    """Yield the same as their files hold them, for who needs a part of each only.

    Entries whose kind and body are not `chosen` are left out. It is asked once for all that share a
    template, of which it is given the body: they differ in times and values alone.
    """
    files = segments.segments(folder)
    first = 0
    for number, file in enumerate(files):
        if _begins_after(file, start_ns):
            break
        first = number
    for file in files[first:]:
        if _begins_after(file, end_ns):
            return
        for one, _ in _undamaged_stored(file, since_ns=start_ns, chosen=chosen):
            if one.at_ns > end_ns:
                return
            if one.at_ns >= start_ns:
                yield one


def _begins_after(file: Path, at_ns: int) -> bool:
    try:
        begun = segments.first_at_ns(file)
    except FileNotFoundError:
        return False  # trimmed meanwhile
    return begun is not None and begun > at_ns


def _read(place: Path, after: Offset | None) -> Iterator[tuple[JournalEntry, Offset]]:
    for one, end in _stored(place, after):
        yield _entry(one, end), end


def _entry(one: stored.StoredEntry, end: Offset) -> JournalEntry:
    try:
        return one.entry()
    except columns.ColumnsError as error:
        raise segments.SegmentError(f"{end[0]} before {end[1]}: {error}") from error


def _stored(
    place: Path,
    after: Offset | None,
    since_ns: int = 0,
    chosen: stored.Chosen = stored.every,
) -> Iterator[tuple[stored.StoredEntry, Offset]]:
    templates: dict[int, columns.BodyTemplate | None] = {}
    segment = ""
    for record in segments.read(place, after=after, context=stored.CONTEXT, since_ns=since_ns):
        if record.segment != segment:
            segment = record.segment
            templates.clear()
        try:
            one = stored.of(record, templates, chosen)
        except columns.ColumnsError as error:
            raise segments.SegmentError(f"{segment} at {record.offset}: {error}") from error
        if one is not None and (after is None or (segment, record.offset) >= after):
            yield one, (segment, record.end)


def _undamaged(file: Path, after: Offset | None = None) -> Iterator[tuple[JournalEntry, Offset]]:
    with _damage_logged():
        yield from _read(file, after)


def _undamaged_stored(
    file: Path, *, since_ns: int, chosen: stored.Chosen
) -> Iterator[tuple[stored.StoredEntry, Offset]]:
    with _damage_logged():
        yield from _stored(file, None, since_ns, chosen)


@contextlib.contextmanager
def _damage_logged() -> Generator[None, None, None]:
    try:
        yield
    except FileNotFoundError:
        return  # trimmed meanwhile
    except (segments.SegmentError, OSError) as error:
        _LOG.error("a journal segment is damaged: the rest of it is skipped", error=str(error))


def _begins_before(file: Path, at_ns: int) -> bool:
    first = next(_undamaged(file), None)
    return first is not None and first[0].at_ns <= at_ns
