"""Request bodies, read and unpacked within a bound: a small request cannot fill the memory."""

import zlib
from collections.abc import AsyncIterator

import cramjam
import numpy as np

from .budget import ByteBudget

_DRAINED = 4
"""A refused body is read up to so many times the limit."""
QUICK_BYTES = 1 << 20
"""Of what is unpacked on the event loop, at the most: a few milliseconds. More takes a thread."""
_MEMBERS = 16
"""gzip allows any number of members; each costs a start, so a sender gets a few."""
_INPUT_BYTES = 64 << 10
_PIECE_BYTES = 1 << 20
"""What is unpacked at once: so much of the body, to so much at the most."""


class BodyError(Exception):
    """A body that is not taken; `status` is the HTTP status that says so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def too_large(limit: int) -> BodyError:
    return BodyError(413, f"the body is larger than {limit} bytes after decompression")


async def read(
    stream: AsyncIterator[bytes], *, limit: int, room: ByteBudget, sender: bytes
) -> bytes:
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
                elif not room.take(sender, len(chunk)):
                    refusal = BodyError(503, "too many bodies are being read at once")
                else:
                    kept += len(chunk)
                    chunks.append(chunk)
                    continue
                chunks.clear()
            if size > _DRAINED * limit:
                break
    finally:
        room.give_back(sender, kept)
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
    # In pieces: a whole body at once is copied with the interpreter held, for tens of milliseconds.
    parts: list[bytes] = []
    left, members = limit, 0
    member = None
    for start in range(0, len(body), _INPUT_BYTES):
        data = body[start : start + _INPUT_BYTES]
        part = b""
        while data or len(part) == _PIECE_BYTES:
            if member is None:
                members += 1
                if members > _MEMBERS:
                    raise BodyError(400, f"the body has more than {_MEMBERS} gzip members")
                member = zlib.decompressobj(wbits)
            try:
                part = member.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                raise BodyError(400, f"the body cannot be decompressed: {error}") from error
            left -= len(part)
            if left < 0:
                raise too_large(limit)
            parts.append(part)
            if member.eof:  # gzip allows several members, one after the other
                data, part, member = member.unused_data, b"", None
            else:
                data = member.unconsumed_tail
    if member is not None:
        raise BodyError(400, "the compressed body ends too early")
    return b"".join(parts)


def _zstd(body: bytes, *, limit: int) -> bytes:
    # The library has no bounded decompressor, but it stops where the buffer it writes to ends.
    # What numpy leaves as it is costs nothing before something is written to it; filling it with
    # zeros would cost a body of a few bytes as much as one of the limit.
    buffer = np.empty(limit + 1, np.uint8)
    try:
        size = cramjam.zstd.decompress_into(body, buffer.data)
    except cramjam.DecompressionError as error:
        if "whole buffer" in str(error):
            raise too_large(limit) from error
        raise BodyError(400, f"the body cannot be decompressed: {error}") from error
    if size > limit:
        raise too_large(limit)
    return buffer[:size].tobytes()
