"""The bytes of a segment file: eight of magic and version, then records one after the other.

A record is a header of 22 bytes, little-endian, and its stored payload:

    length u32 of the stored payload | kind u8 | codec u8 | at_ns i64 |
    crc32 u32 of the stored payload  | crc32 u32 of the header so far

The header has a checksum of its own, so that a damaged length is no file cut short.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

MAGIC = b"RANKSEG\x01"
SUFFIX = ".seg"

Codec = Literal["raw", "zlib", "zstd", "lz4"]
CODECS: tuple[Codec, ...] = ("raw", "zlib", "zstd", "lz4")
SMALL_BYTES = 2048
"""Up to here zstd takes more than ten times as long as lz4, and saves a twentieth more."""

_FIELDS = struct.Struct("<IBBqI")
_CHECK = struct.Struct("<I")
HEADER_BYTES = _FIELDS.size + _CHECK.size


class SegmentError(Exception):
    """A segment file that is damaged, or that this process cannot read; names file and offset."""


class LockedError(SegmentError):
    """Another writer has the folder."""


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """One record as it was appended; `segment` is the file's name.

    `offset` is the place of its first byte, `end` that after its last.
    """

    kind: int
    at_ns: int
    payload: bytes
    segment: str
    offset: int
    end: int


@dataclass(frozen=True, slots=True)
class RecordHeader:
    """What stands before a stored payload."""

    length: int
    kind: int
    codec: int
    at_ns: int
    check: int

    def matches(self, stored: bytes) -> bool:
        """Tell whether these bytes are the stored payload, whole and undamaged."""
        return len(stored) == self.length and zlib.crc32(stored) == self.check


def pack(kind: int, codec: Codec, at_ns: int, stored: bytes) -> bytes:
    """Return the bytes of one record. Raises ValueError for numbers that the header cannot hold."""
    try:
        fields = _FIELDS.pack(len(stored), kind, CODECS.index(codec), at_ns, zlib.crc32(stored))
    except struct.error as error:
        raise ValueError(f"kind {kind}, at_ns {at_ns}, {len(stored)} bytes: {error}") from None
    return fields + _CHECK.pack(zlib.crc32(fields)) + stored


def unpack(header: bytes) -> RecordHeader | None:
    """Return the header in these HEADER_BYTES bytes, or None where its checksum is wrong."""
    fields = header[: _FIELDS.size]
    if _CHECK.unpack(header[_FIELDS.size :])[0] != zlib.crc32(fields):
        return None
    return RecordHeader(*_FIELDS.unpack(fields))


def compressor(codec: Codec) -> Callable[[bytes], tuple[Codec, bytes]]:
    """Return the function that gives codec and stored form of a payload.

    What "zstd" stores is lz4 where the payload is small, and the payload itself where nothing makes
    it shorter. Raises SegmentError where a library is not at hand.
    """
    if codec == "zstd":
        library = _cramjam(codec)
        lz4, zstd = library.lz4.compress_block, library.zstd.compress

        def smaller(payload: bytes) -> tuple[Codec, bytes]:
            if len(payload) <= SMALL_BYTES:
                return _shorter("lz4", bytes(lz4(payload)), payload)
            return _shorter("zstd", bytes(zstd(payload, 3)), payload)

        return smaller
    if codec == "zlib":
        return lambda payload: _shorter("zlib", zlib.compress(payload, 1), payload)
    return lambda payload: ("raw", payload)


def _shorter(codec: Codec, stored: bytes, payload: bytes) -> tuple[Codec, bytes]:
    return (codec, stored) if len(stored) < len(payload) else ("raw", payload)


def restored(stored: bytes, codec: int, place: Path, offset: int) -> bytes:
    """Return the payload of a stored one. Raises SegmentError where it cannot be had back."""
    try:
        match CODECS[codec]:
            case "raw":
                return stored
            case "zlib":
                return zlib.decompress(stored)
            case "zstd":
                return bytes(_cramjam("zstd").zstd.decompress(stored))
            case "lz4":
                return bytes(_cramjam("lz4").lz4.decompress_block(stored))
    except SegmentError as error:
        raise SegmentError(f"{place} at {offset}: {error}") from None
    except Exception as error:  # cramjam's own errors derive from Exception alone
        raise SegmentError(f"{place} at {offset}: codec {codec} failed: {error!r}") from error


def _cramjam(codec: Codec) -> Any:
    try:
        import cramjam  # noqa: PLC0415  the agent writes segments without it
    except ImportError:
        raise SegmentError(f"{codec} needs cramjam: pip install 'rankscope[collector]'") from None
    return cramjam
