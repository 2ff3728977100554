"""The few lines of a large log that may tell of a kernel, with numbers and those above them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ....formats.kernel_log import MOST_ABOVE
from . import blocks
from .blocks import LogBlock, TextGroup
from .needle_search import FoundText

_LONGEST = 1 << 16
"""Bytes of a line that are kept."""
_MOST_HELD = 16 << 20
"""Bytes that are held of one log."""

NumberedLine = tuple[int, bytes, bool]
"""Its number from 1, the line, and whether it may have a text."""


class TellingLines:
    """Goes through the blocks of one log.

    Held are lines with a text of the kernel and MOST_ABOVE above each, the first line of the log
    and as many at its end. Of a log that has too many it is walked again instead.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: list[NumberedLine] | None = []
        self._size = 0
        self._number = 1
        self._tail: list[bytes] = []
        """The newest lines that were not held."""

    def learn(self, block: LogBlock) -> None:
        """Take the next block."""
        if self._held is not None:
            new = list(self._lines(block.lines, block.line_places[TextGroup.KERNEL]))
            self._held += new
            self._size += sum(len(line) for _, line, _ in new)
            if self._size > _MOST_HELD:
                self._held = None

    def lines(self) -> Iterator[NumberedLine]:
        """Yield the lines of the whole log, in order. Raises OSError.

        Of a very long line there is only the beginning.
        """
        if self._held is not None:
            yield from self._held
            yield from self._last()
            return
        self._number, self._tail = 1, []
        with self.path.open("rb") as opened:
            for block in blocks.blocks(opened):
                yield from self._lines(block.lines, block.line_places[TextGroup.KERNEL])
        yield from self._last()

    def _lines(self, data: bytes, places: Sequence[FoundText]) -> Iterator[NumberedLine]:
        done = 0
        first = [0] if self._number == 1 and data else []
        for place in (*first, *(place for place, _ in places)):
            if place < done:
                continue
            start = max(done, data.rfind(b"\n", done, place) + 1)
            self._pass(data[done:start])
            yield from self._last()
            done = data.find(b"\n", start) + 1
            yield self._number, data[start : min(done, start + _LONGEST)], True
            self._number += 1
        self._pass(data[done:])

    def _last(self) -> Iterator[NumberedLine]:
        """Yield the lines just before here that were not."""
        first = self._number - len(self._tail)
        yield from ((first + place, line, False) for place, line in enumerate(self._tail))
        self._tail = []

    def _pass(self, data: bytes) -> None:
        if not data:
            return
        lines = data.removesuffix(b"\n").rsplit(b"\n", MOST_ABOVE)[-MOST_ABOVE:]
        self._number += data.count(b"\n")
        newest = [line[:_LONGEST] + b"\n" for line in lines]
        self._tail = [*self._tail, *newest][-MOST_ABOVE:]
