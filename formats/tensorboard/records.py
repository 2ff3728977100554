"""Records of a TFRecord file as it grows: length, its checksum, content, its checksum.

A torn record waits for its rest. A large one (images, graphs, histograms) is passed over without
being held. Where bytes were left out, or are damaged, reading goes on at the next record whose
length has the right checksum.
"""

import struct
from collections import Counter

from . import crc32c

MARK = ".tfevents."
"""What the name of an event file has in it."""

LARGEST = 16 << 10
"""Bytes of a record that is looked at: an event with a scalar has a hundred."""
_HEAD = struct.Struct("<QI")
_TAIL = struct.Struct("<I")
_BEYOND = 1 << 32
"""No record is as long; in a search, four zero bytes are where a length ends."""


class Records:
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
            if length >= _BEYOND or crc32c.masked(data[at : at + 8]) != check:
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
            if crc32c.masked(content) == _TAIL.unpack_from(data, end - _TAIL.size)[0]:
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
            if crc32c.masked(data[start : start + 8]) == _TAIL.unpack_from(data, start + 8)[0]:
                self._lost = False
                return start
            at = start + 1
        return max(at, len(data) - _HEAD.size + 1)
