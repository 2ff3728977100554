"""Events of TensorBoard: the time, the step and the scalars of one, nothing else.

Fields as tensorflow/core/util/event.proto, framework/summary.proto and framework/tensor.proto
number them. A scalar is a `simple_value`, or a tensor of one number as tf.summary writes it.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ..wire import FIXED32, FIXED64, LENGTH, VARINT, fields, read_varint

_MOST_VALUES = 256
_LONGEST_TAG = 200
_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")
_OF_TYPE = {1: _FLOAT, 2: _DOUBLE}
"""Types of tensors that are read: float and double."""
_CONTENT = {(4, LENGTH), (5, LENGTH), (6, LENGTH), (5, FIXED32), (6, FIXED64)}
"""As bytes, or as a list of one, packed or not."""


@dataclass(frozen=True, slots=True)
class ScalarEvent:
    """`at`: seconds since the epoch, by the writer's clock. scalars: (tag, value)."""

    at: float
    step: int
    scalars: tuple[tuple[str, float], ...]


def read(record: bytes) -> ScalarEvent:
    """Return what a record holds; raises WireError or struct.error where it is no event."""
    at, step, scalars = 0.0, 0, list[tuple[str, float]]()
    for field, kind, start, end in fields(record, 0, len(record)):
        if (field, kind) == (1, FIXED64):
            (at,) = _DOUBLE.unpack_from(record, start)
        elif (field, kind) == (2, VARINT):
            step = read_varint(record, start, end)[0]
        elif (field, kind) == (5, LENGTH):
            scalars += _scalars(record, start, end)
    return ScalarEvent(at, step, tuple(scalars[:_MOST_VALUES]))


def _scalars(data: bytes, start: int, end: int) -> Iterator[tuple[str, float]]:
    for field, kind, begin, stop in fields(data, start, end):
        if (field, kind) != (1, LENGTH):
            continue
        tag, value = b"", None
        for part, form, first, last in fields(data, begin, stop):
            if (part, form) == (1, LENGTH):
                tag = data[first:last]
            elif (part, form) == (2, FIXED32):
                (value,) = _FLOAT.unpack_from(data, first)
            elif (part, form) == (8, LENGTH):
                value = _tensor(data, first, last)
        if value is not None and 0 < len(tag) <= _LONGEST_TAG:
            yield tag.decode("utf-8", "replace"), float(value)


def _tensor(data: bytes, start: int, end: int) -> float | None:
    """Return the number of a tensor that has exactly one."""
    form, content = 0, b""
    for field, kind, first, last in fields(data, start, end):
        if (field, kind) == (1, VARINT):
            form = read_varint(data, first, last)[0]
        elif (field, kind) in _CONTENT:
            content = data[first:last]
    number = _OF_TYPE.get(form)
    if number is None or len(content) != number.size:
        return None
    return float(number.unpack(content)[0])
