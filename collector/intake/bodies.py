"""Request bodies, read and unpacked within a bound: a small request cannot fill the memory."""

import zlib
from collections.abc import AsyncIterator

import cramjam

_DRAINED = 4
"""A refused body is read up to so many times the limit."""
_MEMBERS = 16
"""gzip allows any number of members; each costs a copy of the rest, so a sender gets a few."""


class BodyError(Exception):
    """A body that is not taken; `status` is the HTTP status that says so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def too_large(limit: int) -> BodyError:
    """Return the error for a body over the limit."""
    return BodyError(413, f"the body is larger than {limit} bytes after decompression")


class BodyBudget:
    """A byte budget that all requests being read share; used on one event loop only."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0

    def take(self, size: int) -> bool:
        """Take so many bytes; False when they do not fit beside those of others."""
        if self._used and self._used + size > self._limit:
            return False
        self._used += size
        return True

    def give_back(self, size: int) -> None:
        """Give bytes back."""
        self._used -= size


async def read(stream: AsyncIterator[bytes], *, limit: int, room: BodyBudget) -> bytes:
    """Return the body as sent. Raises BodyError 413 over the limit, 503 when there is no room.

    A body that is refused is still read to its end, within reason, and thrown away: closing the
    connection on a sender that is still writing would cost it the answer.
    """
    chunks: list[bytes] = []
    size = kept = 0
    refusal: BodyError | None = None
    try:
        async for chunk in stream:
            size += len(chunk)
            if refusal is None:
                if size > limit:
                    refusal = too_large(limit)
                elif not room.take(len(chunk)):
                    refusal = BodyError(503, "too many bodies are being read at once")
                else:
                    kept += len(chunk)
                    chunks.append(chunk)
                    continue
                chunks.clear()
            if size > _DRAINED * limit:
                break
    finally:
        room.give_back(kept)
    if refusal is not None:
        raise refusal
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def discard(stream: AsyncIterator[bytes], *, limit: int) -> None:
    """Read a body that nobody wants, up to the limit."""
    size = 0
    async for chunk in stream:
        size += len(chunk)
        if size > limit:
            return


def unpack(body: bytes, encoding: str, *, limit: int) -> bytes:
    """Return the body decompressed as its Content-Encoding says.

    Raises BodyError: 415 for an encoding we do not know, 400 for bytes that are not in it, 413
    for more than `limit` bytes, found out without producing more than that.
    """
    match encoding:
        case "" | "identity":
            return body
        case "gzip":
            return _inflate(body, limit=limit, wbits=31)
        case "deflate":
            return _inflate(body, limit=limit, wbits=15)
        case "zstd":
            return _zstd(body, limit=limit)
    raise BodyError(415, f"Content-Encoding {encoding!r} is not taken: send gzip, zstd or none")


def unsnap(body: bytes, *, limit: int) -> bytes:
    """Return a snappy block decompressed; it says its size first, so a bomb is refused unopened."""
    try:
        if cramjam.snappy.decompress_raw_len(body) > limit:
            raise too_large(limit)
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise BodyError(400, f"not a snappy block: {error}") from error


def _inflate(body: bytes, *, limit: int, wbits: int) -> bytes:
    parts: list[bytes] = []
    left = limit
    while body:
        if len(parts) == _MEMBERS:
            raise BodyError(400, f"the body has more than {_MEMBERS} gzip members")
        member = zlib.decompressobj(wbits)
        try:
            part = member.decompress(body, left + 1)
        except zlib.error as error:
            raise BodyError(400, f"the body cannot be decompressed: {error}") from error
        left -= len(part)
        if left < 0:
            raise too_large(limit)
        if not member.eof:
            raise BodyError(400, "the compressed body ends too early")
        parts.append(part)
        body = member.unused_data  # gzip allows several members, one after the other
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _zstd(body: bytes, *, limit: int) -> bytes:
    # The library has no bounded decompressor, but it stops where the buffer it writes to ends.
    # The memory is not touched, and so not taken, before something is written to it.
    buffer = bytearray(limit + 1)
    try:
        size = cramjam.zstd.decompress_into(body, buffer)
    except cramjam.DecompressionError as error:
        if "whole buffer" in str(error):
            raise too_large(limit) from error
        raise BodyError(400, f"the body cannot be decompressed: {error}") from error
    if size > limit:
        raise too_large(limit)
    return bytes(memoryview(buffer)[:size])
