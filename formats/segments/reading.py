"""Records read back in the order of writing, past a torn tail and never past damage."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from .format import HEADER_BYTES, MAGIC, SUFFIX, SegmentError, SegmentRecord, restored, unpack

Position = tuple[str, int]
"""A segment's name and an offset in it: where a reader goes on, `(record.segment, record.end)`."""

Torn = Callable[[Path, int], None]

_CHUNK = 1 << 20


def segments(folder: Path) -> list[Path]:
    """Return the segment files of a folder, oldest first; none where there is no such folder."""
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.stem.isdecimal())


def size(folder: Path) -> int:
    """Return the bytes that all segments of a folder take."""
    total = 0
    for path in segments(folder):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # trimmed meanwhile
            continue
    return total


def read(
    place: Path,
    *,
    after: Position | None = None,
    torn: Torn | None = None,
    context: frozenset[int] = frozenset(),
    since_ns: int = 0,
) -> Iterator[SegmentRecord]:
    """Yield the records of a folder or of one file, those from position `after` on.

    Records of the kinds in `context` that stand before `after` in the same segment come too, for
    formats in which a record may refer to an earlier one; the others there are not unpacked. So it
    is with records older than `since_ns`, which a reader of a time range has no use for.

    `torn(file, offset)` is called for a record cut off at the end of a file, as a crash leaves it;
    a reader of a folder that is being written sees the newest record so only by chance of timing.
    Raises SegmentError, with file and offset, for damage anywhere else.
    """
    for path in segments(place) if place.is_dir() else [place]:
        if after is not None and path.name < after[0]:
            continue
        start = after[1] if after is not None and path.name == after[0] else 0
        try:
            file = path.open("rb")
        except FileNotFoundError:
            if path == place:
                raise
            continue  # trimmed meanwhile
        with file:
            yield from _records(file, path, (start, since_ns), torn or _unheard, context)


def first_at_ns(path: Path) -> int | None:
    """Return the time of a segment's first record, or None where it has no whole header yet."""
    with path.open("rb") as file:
        file.seek(len(MAGIC))
        data = file.read(HEADER_BYTES)
    header = unpack(data) if len(data) == HEADER_BYTES else None
    return None if header is None else header.at_ns


def last_at_ns(path: Path) -> int | None:
    """Return the time of a segment's last record whose header is whole, None without any.

    Only headers are read: it is quick, and proves nothing about the payloads.
    """
    newest = None
    with path.open("rb") as file:
        end = path.stat().st_size
        offset = len(MAGIC)
        while offset + HEADER_BYTES <= end:
            file.seek(offset)
            header = unpack(file.read(HEADER_BYTES))
            if header is None:
                break
            newest = header.at_ns
            offset += HEADER_BYTES + header.length
    return newest


def _unheard(_file: Path, _offset: int) -> None:
    return


def _records(
    file: BinaryIO, path: Path, first: tuple[int, int], torn: Torn, context: frozenset[int]
) -> Iterator[SegmentRecord]:
    """Yield the records from the first wanted (offset, time) on, and those of context before."""
    start, since_ns = first
    magic = file.read(len(MAGIC))
    if magic != MAGIC:
        if not MAGIC.startswith(magic.rstrip(b"\0")) or not _zeros_to_the_end(file):
            raise SegmentError(f"{path} at 0: no segment file of this version")
        if magic:
            torn(path, 0)
        return
    start = max(start, len(MAGIC))
    offset = len(MAGIC) if context else start
    file.seek(offset)
    while head := file.read(HEADER_BYTES):
        header = unpack(head) if len(head) == HEADER_BYTES else None
        if header is None:
            if len(head) == HEADER_BYTES and not _zeros_to_the_end(file):
                raise SegmentError(f"{path} at {offset}: a damaged record header")
            torn(path, offset)
            return
        end = offset + HEADER_BYTES + header.length
        wanted = offset >= start and header.at_ns >= since_ns
        if not wanted and header.kind not in context:
            file.seek(end)
            offset = end
            continue
        stored = file.read(header.length)
        if not header.matches(stored):
            if len(stored) == header.length and not _zeros_to_the_end(file):
                raise SegmentError(f"{path} at {offset}: a record whose checksum is wrong")
            torn(path, offset)
            return
        payload = restored(stored, header.codec, path, offset)
        yield SegmentRecord(header.kind, header.at_ns, payload, path.name, offset, end)
        offset = end


def _zeros_to_the_end(file: BinaryIO) -> bool:
    """Tell whether nothing but zeros follows: blocks a filesystem added but never filled."""
    while chunk := file.read(_CHUNK):
        if chunk.strip(b"\0"):
            return False
    return True
