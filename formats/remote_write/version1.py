"""The wire of remote write 1.0, walked by hand: there is no package with its messages.

    WriteRequest { timeseries = 1 }
    TimeSeries   { labels = 1 {name = 1, value = 2}, samples = 2, exemplars = 3, histograms = 4 }
    Sample       { value = 1 double, timestamp = 2 int64, milliseconds }

A sample of these decades is written in 18 bytes, [tag, 16, tag, value, tag, six bytes of time], or
in 9 where the value is zero and left out. A series that ends in so many, and begins with labels
that are known, is taken as a whole: values and times are gathered, and their form is checked, for
all of them together.

Reference: https://prometheus.io/docs/specs/prw/remote_write_spec/
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import wire

SAMPLE, ZERO = 18, 9
"""Bytes of a sample from 2004 to 2109, its tag and size included; of one whose value is zero."""

_LABELS, _SAMPLES, _HISTOGRAMS = 1, 2, 4
_SERIES = 1 << 3 | wire.LENGTH
_FIELD = _SAMPLES << 3 | wire.LENGTH
_HEAD = bytes((_FIELD, SAMPLE - 2, 1 << 3 | wire.FIXED64))
_ZERO_HEAD = bytes((_FIELD, ZERO - 2))
_TIME = 2 << 3 | wire.VARINT

Learn = Callable[[int, Mapping[str, str]], int]


@dataclass(frozen=True, slots=True)
class WalkedSamples:
    """Samples as parallel arrays: the number of their set of labels, time (ms), value.

    `histograms` counts native histograms. `without` are the numbers of sets without a sample.
    """

    numbers: NDArray[np.int32]
    at_ms: NDArray[np.int64]
    value: NDArray[np.float64]
    histograms: int = 0
    without: Sequence[int] = ()


class SampleColumns:
    """Samples on their way into arrays: those that are gathered, and those that were read.

    `ends` are the places after samples in their usual form, negative where the value is left out.
    """

    def __init__(self) -> None:
        self.numbers = array("i")
        self.ends = array("q")
        self.read_numbers = array("i")
        self.read_before = array("q")
        self.read_at = array("q")
        self.read_value = bytearray()
        self.histograms = 0
        self.without: list[int] = []
        self._rows: NDArray[np.uint8] | None = None

    def read(self, number: int, value: bytes, at_ms: int) -> None:
        """Add a sample that was read for itself; `value` is its 8 bytes."""
        self.read_numbers.append(number)
        self.read_before.append(len(self.ends))
        self.read_at.append(at_ms)
        self.read_value += value

    def _tails(self, data: bytes) -> NDArray[np.uint8]:
        """Return [ends, 18], the bytes before each; without a value what stands before it."""
        if self._rows is None or len(self._rows) != len(self.ends):
            ends = np.abs(np.array(self.ends, np.int64))
            octets = np.frombuffer(data, np.uint8)
            self._rows = np.zeros((0, SAMPLE), np.uint8)
            if len(ends):
                self._rows = octets[np.maximum(ends[:, None] + np.arange(-SAMPLE, 0), 0)]
        return self._rows

    def all_usual(self, data: bytes) -> bool:
        """Tell whether samples behind known labels all have the form they were taken for."""
        rows = self._tails(data)
        zero = np.array(self.ends, np.int64) < 0
        times = (rows[:, 11] == _TIME) & (rows[:, 17] < 128) & (rows[:, 12:17] > 127).all(axis=1)
        heads = np.where(
            zero,
            (rows[:, 9] == _ZERO_HEAD[0]) & (rows[:, 10] == _ZERO_HEAD[1]),
            (rows[:, 0] == _HEAD[0]) & (rows[:, 1] == _HEAD[1]) & (rows[:, 2] == _HEAD[2]),
        )
        return bool((times & heads).all())

    def walked(self, data: bytes) -> WalkedSamples:
        """Return all as arrays."""
        ends = np.array(self.ends, np.int64)
        numbers = np.array(self.numbers, np.int32)
        rows = self._tails(data)
        value = np.ascontiguousarray(rows[:, 3:11]).view("<f8").reshape(-1)
        value[ends < 0] = 0.0
        at_ms = np.zeros(len(ends), np.int64)
        for place in range(6):
            at_ms |= (rows[:, 12 + place].astype(np.int64) & 127) << (7 * place)
        if self.read_numbers:
            before = np.array(self.read_before, np.int64)
            numbers = np.insert(numbers, before, np.array(self.read_numbers, np.int32))
            at_ms = np.insert(at_ms, before, np.array(self.read_at, np.int64))
            value = np.insert(value, before, np.frombuffer(bytes(self.read_value), "<f8"))
        return WalkedSamples(numbers, at_ms, value, self.histograms, self.without)


def walk(data: bytes, numbers: Mapping[int, int], learn: Learn) -> WalkedSamples:
    """Return the samples of a WriteRequest; raises wire.WireError.

    `numbers` are those of known sets of labels by hash of their bytes, `learn` returns one for a
    new set.
    """
    found = SampleColumns()
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
        number = known(hash(data[at : end - SAMPLE]))
        if number is not None:
            add_number(number)
            add_end(end)
        elif (number := known(hash(data[at : end - ZERO]))) is not None:
            add_number(number)
            add_end(-end)
        else:
            _slowly(data, at, end, found, numbers, learn)
        at = end
    if not found.all_usual(data):
        return _exactly(data, numbers, learn)
    return found.walked(data)


def _exactly(data: bytes, numbers: Mapping[int, int], learn: Learn) -> WalkedSamples:
    """Walk a request in which something is not what it looked like."""
    found = SampleColumns()
    for field, wire_type, first, last in wire.fields(data, 0, len(data)):
        if field == 1 and wire_type == wire.LENGTH:
            _slowly(data, first, last, found, numbers, learn)
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
    data: bytes, at: int, end: int, found: SampleColumns, numbers: Mapping[int, int], learn: Learn
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
    key = hash(labels)
    number = numbers.get(key)
    if number is None:
        pairs = (_label(labels, *span) for span in _spans(labels))
        number = learn(key, dict(pairs))
    if not ends and not samples:
        found.without.append(number)
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
