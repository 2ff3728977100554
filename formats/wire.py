"""The protobuf wire, by hand: what writing OTLP and reading remote write need of it.

The agent writes OTLP without the protobuf runtime, which would cost it 6 MB of its memory budget.
Reference: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5

_SHORT = tuple(bytes((n,)) if n < 128 else bytes((n & 127 | 128, n >> 7)) for n in range(16384))


class WireError(ValueError):
    """Bytes that are no protobuf message."""


def varint(number: int) -> bytes:
    """Return a number of 0 to 2**64 - 1 as a varint."""
    if number < 16384:
        return _SHORT[number]
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def signed(number: int) -> bytes:
    """Return a number of -2**63 to 2**63 - 1 as protobuf's int64: ten bytes where negative."""
    return varint(number & 0xFFFF_FFFF_FFFF_FFFF)


def tag(field: int, wire_type: int) -> bytes:
    """Return the tag that stands before a field."""
    return varint(field << 3 | wire_type)


def block(field: int, content: bytes) -> bytes:
    """Return a length-delimited field: a text, bytes or a message."""
    return tag(field, LENGTH) + varint(len(content)) + content


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the varint at a place and the place after it; raises WireError past `end`."""
    result = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift > 63:
            raise WireError(f"a varint of more than ten bytes at {at}")
    raise WireError(f"cut off inside a varint at {end}")


def fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (field, wire type, from, to) of a message that lies in data[start:end].

    For a varint [from, to) is the varint itself, for a length-delimited field its content.
    Raises WireError on what is no message; groups, long deprecated, count as such.
    """
    at = start
    while at < end:
        key, at = read_varint(data, at, end)
        field, wire_type = key >> 3, key & 7
        if field == 0 or field > 0x1FFF_FFFF:
            raise WireError(f"field number {field} at {at}")
        first = at
        if wire_type == VARINT:
            _, at = read_varint(data, at, end)
        elif wire_type == LENGTH:
            size, first = read_varint(data, at, end)
            at = first + size
        elif wire_type == FIXED64:
            at += 8
        elif wire_type == FIXED32:
            at += 4
        else:
            raise WireError(f"wire type {wire_type} at {at}")
        if at > end:
            raise WireError(f"field {field} runs past the end at {end}")
        yield field, wire_type, first, at
