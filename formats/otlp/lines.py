"""Lines of logs as an OTLP request: bodies as they were written, made valid UTF-8."""

import struct
from collections.abc import Iterable, Mapping, Sequence

from ...vocabulary.samples import Scalar, TelemetryResource
from .. import wire
from .encode import SCOPE_BLOCK, key_value, resource_block

_TIMES = struct.Struct("<BQ").pack
_AT, _OBSERVED = 1 << 3 | wire.FIXED64, 11 << 3 | wire.FIXED64


def attributes(pairs: Mapping[str, Scalar]) -> bytes:
    """Return the attributes of records as they stand in each."""
    return b"".join(key_value(6, name, value) for name, value in pairs.items())


def record(line: bytes, *, at_ns: int, observed_ns: int, attributes: bytes) -> bytes:
    """Return a log record: a line without its end, times in nanoseconds since the epoch."""
    try:
        line.decode()
    except UnicodeDecodeError:
        line = line.decode("utf-8", "replace").encode()
    body = wire.block(5, wire.block(1, line))
    return _TIMES(_AT, at_ns) + body + attributes + _TIMES(_OBSERVED, observed_ns)


def request(groups: Iterable[tuple[TelemetryResource, Sequence[bytes]]]) -> bytes:
    """Return an ExportLogsServiceRequest of such records: one ResourceLogs a resource."""
    return b"".join(
        wire.block(
            1,
            resource_block(resource)
            + wire.block(2, SCOPE_BLOCK + b"".join(wire.block(2, one) for one in records)),
        )
        for resource, records in groups
    )


def rejected(answer: bytes) -> int:
    """Return how many records a receiver says it did not take, by its response's partial success.

    Raises WireError where the bytes are no response.
    """
    for field, kind, start, end in wire.fields(answer, 0, len(answer)):
        if (field, kind) == (1, wire.LENGTH):
            for inner, form, first, last in wire.fields(answer, start, end):
                if (inner, form) == (1, wire.VARINT):
                    return wire.read_varint(answer, first, last)[0]
    return 0
