"""Records of a TFRecord file as it grows: length, its checksum, content, its checksum.

A torn record waits for its rest. A large one (images, graphs, histograms) is passed over without
being held. Where bytes were left out, or are damaged, reading goes on at the next record whose
length has the right checksum.
"""

import struct
from collections import Counter

_POLYNOMIAL = 0x82F63B78


def _table() -> tuple[int, ...]:
    rows: list[int] = []
    for number in range(256):
        value = number
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        rows.append(value)
    return tuple(rows)


_ROWS = _table()


def is_events(head: bytes) -> bool:
    """Tell whether a file that begins so holds records of events: its first one names their form.

    Data to train with are records too.
    """
    if len(head) < _HEAD.size or b"brain.Event:" not in head[:_FIRST]:
        return False
    length, check = _HEAD.unpack_from(head)
    return bool(length < _FIRST and masked(head[:8]) == check)


def masked(data: bytes) -> int:
    """Return the masked checksum of some bytes; about 0.1 us a byte."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _ROWS[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


MARK = ".tfevents."
"""What the name of an event file has in it."""

LARGEST = 16 << 10
"""Bytes of a record that is looked at: an event with a scalar has a hundred."""
_HEAD = struct.Struct("<QI")
_TAIL = struct.Struct("<I")
_FIRST = 256
"""Bytes within which the first event names its form."""
_BEYOND = 1 << 32
"""No record is as long; in a search, four zero bytes are where a length ends."""


class RecordSplitter:
    """Takes the bytes of one file in any pieces; for one thread.

    `missed` counts what could not be read, by reason.
    """

    def __init__(self) -> None:
        self.missed: Counter[str] = Counter()
        self._rest = b""
        self._passing = 0
        self._lost = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the records that these bytes end."""
        found: list[bytes] = []
        if self._passing:
            passed = min(self._passing, len(data))
            self._passing -= passed
            data = data[passed:]
        data = self._rest + data
        at = 0
        while len(data) - at >= _HEAD.size:
            if self._lost:
                at = self._next(data, at)
                if self._lost:
                    break
            length, check = _HEAD.unpack_from(data, at)
            if length >= _BEYOND or masked(data[at : at + 8]) != check:
                self.missed["damaged"] += 1
                self._lost = True
                at += 1
                continue
            end = at + _HEAD.size + length + _TAIL.size
            if length > LARGEST:
                self._passing = max(0, end - len(data))
                at = min(end, len(data))
                continue
            if end > len(data):
                break
            content = data[at + _HEAD.size : end - _TAIL.size]
            if masked(content) == _TAIL.unpack_from(data, end - _TAIL.size)[0]:
                found.append(content)
                at = end
            else:
                self.missed["damaged"] += 1
                self._lost = True
                at += 1
        self._rest = data[at:]
        return found

    def lose(self) -> None:
        """Note that bytes were left out here."""
        self._rest, self._passing, self._lost = b"", 0, True

    def _next(self, data: bytes, at: int) -> int:
        """Return where the next record begins, or from where to search on with more bytes."""
        while (zeros := data.find(b"\0\0\0\0", at + 4)) >= 0 and zeros + 8 <= len(data):
            start = zeros - 4
            if masked(data[start : start + 8]) == _TAIL.unpack_from(data, start + 8)[0]:
                self._lost = False
                return start
            at = start + 1
        return max(at, len(data) - _HEAD.size + 1)
