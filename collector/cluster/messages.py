"""Entries of the log as messages of JetStream, and back.

A message carries the kind of its entry, and an id by which JetStream keeps once what was sent
twice. The receive time is the time at which JetStream took it: one clock for all collectors.
"""

import hashlib
from dataclasses import dataclass

import cramjam

from ...formats.otlp.errors import UndecodableError
from ..journal.entries import JournalEntry
from ..journal.interface import Offset
from ..journal.kinds import PayloadKind

ID = "Nats-Msg-Id"
_KIND = "Rankscope-Kind"
_ENCODING = "Rankscope-Encoding"
_ZSTD = "zstd"
_COMPRESSED_BYTES = 256
_LEVEL = 1
_MOST_BYTES = 512 << 20
"""A message that claims to hold more is not one of ours."""
_APART_NS = 1_000
"""Receive times differ by at least so much, which is more than a float of today's dates rounds."""

Headers = dict[str, str]


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """A message of a stream: its sequence, when JetStream took it (ns since the epoch), the rest.

    `pending` messages of the consumer are behind it.
    """

    sequence: int
    taken_ns: int
    headers: Headers
    body: bytes
    pending: int


def packed(kind: PayloadKind, body: bytes, *, identity: bool = True) -> tuple[bytes, Headers]:
    headers = {_KIND: str(int(kind))}
    if identity:
        digest = hashlib.blake2b(body, digest_size=16, key=bytes((int(kind),)))
        headers[ID] = digest.hexdigest()
    if len(body) >= _COMPRESSED_BYTES:
        headers[_ENCODING] = _ZSTD
        return bytes(cramjam.zstd.compress(body, level=_LEVEL)), headers
    return body, headers


def unpacked(message: StreamMessage) -> tuple[PayloadKind, bytes]:
    """Return the kind and body of an entry. Raises UndecodableError for a message of others."""
    try:
        kind = PayloadKind(int(message.headers.get(_KIND, "")))
    except ValueError:
        raise UndecodableError(f"a message without a known {_KIND}") from None
    encoding = message.headers.get(_ENCODING)
    if encoding is None:
        return kind, message.body
    if encoding != _ZSTD:
        raise UndecodableError(f"a message of encoding {encoding}")
    try:
        plain = bytes(cramjam.zstd.decompress(message.body))
    except cramjam.DecompressionError as error:
        raise UndecodableError(f"a message that is not zstd: {error}") from None
    if len(plain) > _MOST_BYTES:
        raise UndecodableError("a message that is too large")
    return kind, plain


def received_ns(taken_ns: int, before_ns: int) -> int:
    """Return the receive time of an entry after one of `before_ns`: times never go back."""
    return max(taken_ns, before_ns + _APART_NS)


def offset(at_ns: int, sequence: int) -> Offset:
    """Return the offset after an entry; it holds the time, so that the next one is later."""
    return str(at_ns), sequence


def place(after: Offset | None) -> tuple[int, int]:
    """Return (receive time, sequence) of an offset; zeros before everything."""
    return (0, 0) if after is None else (int(after[0]), after[1])


def entry(message: StreamMessage, before_ns: int) -> JournalEntry:
    """Return the entry of a message. Raises UndecodableError."""
    kind, body = unpacked(message)
    return JournalEntry(kind, received_ns(message.taken_ns, before_ns), body)
