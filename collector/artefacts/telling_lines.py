"""The few lines of a large file that may hold one of many texts, with their numbers.

A pattern of seventy texts reads fifteen megabytes a second. Here four bytes of each text, its
rarest, are looked for in a whole block at once, as two pairs of bytes that stand side by side.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 20
_LONGEST = 1 << 16
"""Bytes of a line that are kept."""
_COMMON = " etaoinsrlduchmpgfyvwkb.,:=-_/[]()'\"0123456789"
"""From the commonest character of logs on; what is not in it is rare."""


class TextFinder:
    """Finds where one of some texts may stand; each has four bytes or more."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._first = np.zeros(1 << 16, np.bool_)
        self._second = np.zeros(1 << 16, np.bool_)
        chosen: set[int] = set()
        for text in texts:
            parts = [text[at : at + 4] for at in range(len(text) - 3)]
            rarest = max(parts, key=lambda part: (sum(map(_rarity, part)), part))
            self._first[int.from_bytes(rarest[:2], "big")] = True
            self._second[int.from_bytes(rarest[2:], "big")] = True
            chosen.add(int.from_bytes(rarest, "big"))
        self._chosen = np.array(sorted(chosen), np.uint32)

    def places(self, data: bytes) -> list[int]:
        """Return places inside lines that may have one of the texts, ascending."""
        held = np.frombuffer(data, np.uint8).astype(np.uint16)
        pairs = (held[:-1] << np.uint16(8)) | held[1:]
        here: NDArray[np.int64] = np.flatnonzero(self._first[pairs[:-2]])
        here = here[self._second[pairs[here + 2]]]
        four = (pairs[here].astype(np.uint32) << np.uint32(16)) | pairs[here + 2]
        return [int(place) for place in here[np.isin(four, self._chosen)]]


@cache
def finder(texts: tuple[bytes, ...]) -> TextFinder:
    """Return the finder of some texts, made once."""
    return TextFinder(texts)


def numbered(opened: BinaryIO, texts: TextFinder, *, above: int) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line) of lines that may have a text, and of so many lines above each.

    The first line of the file and the last `above` are always among them. Lines keep their ends;
    of a very long one only the beginning is looked at.
    """
    walk = _LineWalk(texts, above)
    rest = b""
    while block := opened.read(_BLOCK):
        data = rest + block
        cut = data.rfind(b"\n") + 1
        if cut:
            yield from walk.lines(data[:cut])
        rest = data[cut : cut + _LONGEST]
    if rest:
        yield from walk.lines(rest)
    yield from walk.last()


class _LineWalk:
    """Goes through blocks of whole lines; `tail` holds the newest that were not yielded."""

    def __init__(self, texts: TextFinder, above: int) -> None:
        self._texts = texts
        self._above = above
        self._number = 1
        self._tail: list[bytes] = []

    def lines(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a block that are looked at, with those above them."""
        done = 0
        places = [0] if self._number == 1 else []
        for place in (*places, *self._texts.places(data)):
            if place < done:
                continue
            start = max(done, data.rfind(b"\n", done, place) + 1)
            self._pass(data[done:start])
            yield from self.last()
            done = data.find(b"\n", start) + 1 or len(data)
            yield self._number, data[start:done]
            self._number += 1
        self._pass(data[done:])

    def last(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines just before here that were not."""
        first = self._number - len(self._tail)
        yield from ((first + place, line) for place, line in enumerate(self._tail))
        self._tail = []

    def _pass(self, data: bytes) -> None:
        if not data:
            return
        lines = data.removesuffix(b"\n").rsplit(b"\n", self._above)
        self._number += data.count(b"\n") + (not data.endswith(b"\n"))
        newest = [line + b"\n" for line in lines[-self._above :]]
        self._tail = [*self._tail, *newest][-self._above :]


def _rarity(byte: int) -> int:
    place = _COMMON.find(chr(byte))
    return len(_COMMON) if place < 0 else place
