"""The wire of remote write 1.0, walked by hand: there is no package with its messages.

    WriteRequest { timeseries = 1 }
    TimeSeries   { labels = 1 {name = 1, value = 2}, samples = 2, exemplars = 3, histograms = 4 }
    Sample       { value = 1 double, timestamp = 2 int64, milliseconds }

A sample of these decades is written in 18 bytes, [tag, 16, tag, value, tag, six bytes of time]. A
series that ends in so many, and begins with labels that are known, is taken as a whole: its value
and time are gathered with those of all others.

Reference: https://prometheus.io/docs/specs/prw/remote_write_spec/
"""

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import wire

SAMPLE = 18
"""Bytes of a sample from 2004 to 2109, its tag and size included."""

_LABELS, _SAMPLES, _HISTOGRAMS = 1, 2, 4
_SERIES = 1 << 3 | wire.LENGTH
_FIELD = _SAMPLES << 3 | wire.LENGTH
_HEAD = bytes((_FIELD, SAMPLE - 2, 1 << 3 | wire.FIXED64))
_TIME = 2 << 3 | wire.VARINT

Learn = Callable[[int, Mapping[str, str]], int]


@dataclass(frozen=True, slots=True)
class Walked:
    """Samples as parallel arrays: the number of their set of labels, time (ms), value.

    `histograms` counts native histograms, `samples` and `exemplars` what was there of each.
    """

    numbers: NDArray[np.int32]
    at_ms: NDArray[np.int64]
    value: NDArray[np.float64]
    histograms: int = 0
    exemplars: int = 0


class Found:
    """Samples on their way into arrays: those that are gathered, and those that were read."""

    def __init__(self) -> None:
        self.numbers = array("i")
        self.ends = array("q")
        self.read_numbers = array("i")
        self.read_before = array("q")
        self.read_at = array("q")
        self.read_value = bytearray()
        self.histograms = 0
        self.exemplars = 0

    def read(self, number: int, value: bytes, at_ms: int) -> None:
        """Add a sample that was read for itself; `value` is its 8 bytes."""
        self.read_numbers.append(number)
        self.read_before.append(len(self.ends))
        self.read_at.append(at_ms)
        self.read_value += value

    def walked(self, data: bytes) -> Walked:
        """Return all as arrays."""
        ends = np.array(self.ends, np.int64)
        numbers = np.array(self.numbers, np.int32)
        octets = np.frombuffer(data, np.uint8)
        rows = octets[ends[:, None] + np.arange(-15, 0)] if len(ends) else octets[:0].reshape(0, 15)
        value = np.ascontiguousarray(rows[:, :8]).view("<f8").reshape(-1)
        at_ms = np.zeros(len(ends), np.int64)
        for place in range(6):
            at_ms |= (rows[:, 9 + place].astype(np.int64) & 127) << (7 * place)
        if self.read_numbers:
            before = np.array(self.read_before, np.int64)
            numbers = np.insert(numbers, before, np.array(self.read_numbers, np.int32))
            at_ms = np.insert(at_ms, before, np.array(self.read_at, np.int64))
            value = np.insert(value, before, np.frombuffer(bytes(self.read_value), "<f8"))
        return Walked(numbers, at_ms, value, self.histograms, self.exemplars)


def walk(data: bytes, numbers: Mapping[int, int], learn: Learn) -> Walked:
    """Return the samples of a WriteRequest; raises wire.WireError.

    `numbers` are those of known sets of labels by hash of their bytes, `learn` returns one for a
    new set.
    """
    found = Found()
    known = numbers.get
    add_number, add_end = found.numbers.append, found.ends.append
    at, size = 0, len(data)
    while at < size:
        if data[at] != _SERIES:
            at = _other(data, at)
            continue
        length = data[at + 1]
        at += 2
        if length > 127:
            more = data[at]
            if more > 127:
                length, at = wire.read_varint(data, at - 1, size)
            else:
                length = length & 127 | more << 7
                at += 1
        end = at + length
        if end > size:
            raise wire.WireError(f"a series runs past the end at {size}")
        first = end - SAMPLE
        number = known(hash(data[at:first]))
        if number is not None and usual(data, first, end):
            add_number(number)
            add_end(end)
        else:
            _slowly(data, at, end, found, numbers, learn)
        at = end
    return found.walked(data)


def usual(data: bytes, first: int, end: int) -> bool:
    """Tell whether data[first:end] is a sample in its usual 18 bytes."""
    return (
        data[first : first + 3] == _HEAD
        and data[end - 7] == _TIME
        and data[end - 1] < 128
        and data[end - 2] > 127
        and data[end - 3] > 127
        and data[end - 4] > 127
        and data[end - 5] > 127
        and data[end - 6] > 127
    )


def _slowly(
    data: bytes, at: int, end: int, found: Found, numbers: Mapping[int, int], learn: Learn
) -> None:
    """Read a series whose labels are new, or that has not one usual sample."""
    first = _after_labels(data, at, end)
    labels = data[at:first]
    samples: list[tuple[bytes, int]] = []
    ends: list[int] = []
    while end - first >= SAMPLE and usual(data, first, first + SAMPLE):
        first += SAMPLE
        ends.append(first)
    for field, wire_type, begin, last in wire.fields(data, first, end):
        if wire_type != wire.LENGTH:
            continue
        if field == _LABELS:  # after a sample: allowed by protobuf, written by nobody
            labels += wire.block(1, data[begin:last])
        elif field == _SAMPLES:
            samples.append(sample(data, begin, last))
        elif field == _HISTOGRAMS:
            found.histograms += 1
        elif field == _HISTOGRAMS - 1:
            found.exemplars += 1
    key = hash(labels)
    number = numbers.get(key)
    if number is None:
        pairs = (_label(labels, *span) for span in _spans(labels))
        number = learn(key, dict(pairs))
    found.numbers.extend([number] * len(ends))
    found.ends.extend(ends)
    for value, at_ms in samples:
        found.read(number, value, at_ms)


def _other(data: bytes, at: int) -> int:
    """Skip a field that is no series; return the place after it."""
    key, first = wire.read_varint(data, at, len(data))
    for _, _, _, last in wire.fields(data, at, len(data)):
        return last
    raise wire.WireError(f"field {key >> 3} at {first}")


def _after_labels(data: bytes, at: int, end: int) -> int:
    """Return where the labels end that stand first in a series, as every sender writes them."""
    while at < end and data[at] == _LABELS << 3 | wire.LENGTH:
        size = data[at + 1]
        at += 2
        if size > 127:
            size, at = wire.read_varint(data, at - 1, end)
        at += size
    if at > end:
        raise wire.WireError(f"a label runs past the end at {end}")
    return at


def sample(data: bytes, start: int, end: int) -> tuple[bytes, int]:
    """Return the 8 bytes of the value and the time in milliseconds."""
    value, at_ms = bytes(8), 0
    for field, wire_type, first, last in wire.fields(data, start, end):
        if field == 1 and wire_type == wire.FIXED64:
            value = data[first:last]
        elif field == 2 and wire_type == wire.VARINT:
            at_ms, _ = wire.read_varint(data, first, last)
    return value, at_ms - (1 << 64) if at_ms >> 63 else at_ms


def _spans(encoded: bytes) -> list[tuple[int, int]]:
    return [(first, last) for _, _, first, last in wire.fields(encoded, 0, len(encoded))]


def _label(data: bytes, start: int, end: int) -> tuple[str, str]:
    texts = {1: "", 2: ""}
    for field, wire_type, first, last in wire.fields(data, start, end):
        if field in texts and wire_type == wire.LENGTH:
            texts[field] = text(data[first:last])
    return texts[1], texts[2]


def text(octets: bytes) -> str:
    """Return a label's text; raises wire.WireError for what is not UTF-8."""
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise wire.WireError("a label that is not UTF-8") from None
