"""The points of all blocks of a request at once: where each begins and where its fields lie.

A block is the points of one metric of one resource. They are mostly of equal length, as the devices
of a host are, so that where each begins follows from the first; what follows is verified.
"""

import numpy as np
from numpy.typing import NDArray

from ..wire import read_varint

AS_INT = 0x31
_POINT = 0x0A
_START, _TIME, _AS_DOUBLE = 0x11, 0x19, 0x21
_SHORTEST = 18
"""Bytes of a point of one time and one value."""
_LONGEST_SIZE = 4
"""Bytes of a length: protobuf allows more, and nobody writes them."""

_Offsets = NDArray[np.int32]


class UnusualError(Exception):
    """A request that is not of the usual form; says nothing about whether it is a valid one."""


class PointBlocks:
    """Blocks [from, to) of a body, in order. Raises UnusualError, IndexError and WireError.

    `counts` [blocks]; `times` and `values` [points] are offsets of 8 bytes, `starts` those of start
    times, where a point has one.
    """

    def __init__(self, body: bytes, begins: list[int], ends: list[int]) -> None:
        self._body = body
        octets = np.frombuffer(body, np.uint8)
        first, self._stops, self.counts = _points(body, octets, begins, ends)
        sizes = self._stops - first
        if len(sizes) and int(sizes.min()) < _SHORTEST:
            raise UnusualError("a point without time or value")
        started = octets[first] == _START
        self.starts: _Offsets = first[started] + np.int32(1)
        times = first + np.int32(9) * started
        self._tails = times + np.int32(_SHORTEST)
        if (self._tails > self._stops).any():
            raise UnusualError("a point without time or value")
        kinds = octets[times + 9]
        if (octets[times] != _TIME).any() or ((kinds != _AS_DOUBLE) & (kinds != AS_INT)).any():
            raise UnusualError("a point of another form")
        self.times: _Offsets = times + np.int32(1)
        self.values: _Offsets = times + np.int32(10)

    def tails(self) -> list[bytes]:
        """Return [points] the bytes behind time and value: attributes, flags, exemplars."""
        body = self._body
        bounds = zip(self._tails.tolist(), self._stops.tolist(), strict=True)
        return [body[begin:end] for begin, end in bounds]


def long_size(body: bytes, at: int) -> tuple[int, int]:
    """Return the length that stands at `at` in more than one byte, and the place after it."""
    size, after = read_varint(body, at, len(body))
    if after - at > _LONGEST_SIZE:
        raise UnusualError(f"a length of {after - at} bytes at {at}")
    return size, after


def _points(
    body: bytes, octets: NDArray[np.uint8], begins: list[int], ends: list[int]
) -> tuple[_Offsets, _Offsets, NDArray[np.int64]]:
    """Return [points] where the content of each begins and ends, and [blocks] how many there are.

    Every block is filled by its points to the last byte.
    """
    begin, end = np.array(begins, np.int64), np.array(ends, np.int64)
    size = octets[np.minimum(begin + 1, len(body) - 1)].astype(np.int64) if begins else begin
    length = size + 2
    counts, rest = np.divmod(end - begin, length)
    counts[(rest != 0) | (size > 127)] = 0
    # As if all points of a block were as long as its first.
    before = np.cumsum(counts) - counts
    block = np.repeat(np.arange(len(counts)), counts)
    at = begin[block] + (np.arange(len(block)) - before[block]) * length[block]
    alike = (octets[at] == _POINT) & (octets[at + 1] == size[block])
    equal = counts > 0
    equal[block[~alike]] = False
    if equal.all():
        first = at + 2
        return first.astype(np.int32), (first + size[block]).astype(np.int32), counts
    within = equal[block]
    firsts, stops = [at[within] + 2], [at[within] + length[block][within]]
    for number in np.flatnonzero(~equal).tolist():
        found = _walk(body, begins[number], ends[number])
        counts[number] = len(found[0])
        firsts.append(np.array(found[0], np.int64))
        stops.append(np.array(found[1], np.int64))
    first, stop = np.concatenate(firsts), np.concatenate(stops)
    order = np.argsort(first, kind="stable")
    return first[order].astype(np.int32), stop[order].astype(np.int32), counts


def _walk(body: bytes, at: int, end: int) -> tuple[list[int], list[int]]:
    """Return where the contents of the points of one block begin and end."""
    firsts: list[int] = []
    stops: list[int] = []
    while at < end:
        if body[at] != _POINT:
            raise UnusualError(f"an unknown field at {at}")
        size = body[at + 1]
        at += 2
        if size > 127:
            size, at = long_size(body, at - 1)
        firsts.append(at)
        at += size
        stops.append(at)
    if at != end:
        raise UnusualError(f"runs past the end at {end}")
    return firsts, stops
