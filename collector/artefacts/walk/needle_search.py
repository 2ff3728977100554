"""Where in a block of a log known texts stand: those of several readers in one search.

A pattern of a hundred texts reads fifteen megabytes a second. Here some bytes of each text, its
rarest, are looked for in the whole block at once, as numbers in a table. What has them is compared
with more of the text, still all at once, and only what has these too with the whole of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_COMMON = " etaoinsrlduchmpgfyvwkb.,:=-_/[]()'\"0123456789"
"""From the commonest character of logs on; what is not in it is rare."""
_RARITIES = bytes(
    len(_COMMON) if (place := _COMMON.find(chr(byte))) < 0 else place for byte in range(256)
)
"""Of each byte."""
_USUAL = (
    b"DEBUG INFO WARNING ERROR torch.distributed NCCL INFO Channel memory process system number of "
    b"iterations steps training loading loaded data dataset checkpoint model parameters worker "
    b"tokenizer configuration version rank requests responding allocated fragmentation during time"
)
"""Words of lines that say nothing: what stands in them is looked for only where nothing else is."""
_FOUR, _TWO = 4, 2
"""Bytes of a window: of texts that are longer than four, and of the others."""
_NUMBERS: dict[int, np.dtype[Any]] = {_FOUR: np.dtype("<u4"), _TWO: np.dtype("<u2")}
_FACTOR, _SHIFT = np.uint32(2654435761), np.uint32(16)
"""Knuth's multiplicative hash, of which the upper half is kept."""

FoundText = tuple[int, bytes]
"""Where a text stands, and the text."""


class NeedleSearch:
    """The search for some groups of texts, made once. Texts have two bytes or more."""

    def __init__(self, groups: Sequence[Iterable[bytes]]) -> None:
        groups = [list(dict.fromkeys(texts)) for texts in groups]
        every = list(dict.fromkeys(text for texts in groups for text in texts))
        self._texts = every
        self._groups: list[list[int]] = [
            [number for number, texts in enumerate(groups) if text in texts] for text in every
        ]
        """By text the groups that it is of."""
        self._count = len(groups)
        long = [number for number, text in enumerate(every) if len(text) > _FOUR]
        short = [number for number, text in enumerate(every) if len(text) <= _FOUR]
        # Of a long text one of two windows lies at an even place, wherever it stands itself.
        self._tables = _WindowTable.of(every, long, _FOUR), _WindowTable.of(every, short, _TWO)

    def places(self, data: bytes) -> list[list[FoundText]]:
        """Return by group where its texts begin in a block, ascending."""
        found: list[list[FoundText]] = [[] for _ in range(self._count)]
        for table in self._tables:
            for start, number in table.candidates(data):
                text = self._texts[number]
                if data.startswith(text, start):
                    for group in self._groups[number]:
                        found[group].append((start, text))
        for places in found:
            places.sort()
        return found


@dataclass(frozen=True, slots=True)
class _WindowTable:
    """Windows of texts: some bytes of each as a number, a row each, ordered by slot.

    marked, first, count: by slot whether rows have it, the first of them, how many. texts: whose a
    row is; inside: how far in it the window stands; size: of the text; more, at: four other bytes
    of the text and how far in it they stand.
    """

    width: int
    marked: NDArray[np.bool_]
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    windows: NDArray[np.uint32]
    texts: NDArray[np.int64]
    inside: NDArray[np.int64]
    size: NDArray[np.int64]
    more: NDArray[np.uint32]
    at: NDArray[np.int64]

    @classmethod
    def of(cls, every: Sequence[bytes], numbers: Sequence[int], width: int) -> "_WindowTable":
        """Return the windows of texts by number: of four bytes one at an even and an odd place."""
        rows: list[tuple[int, int, int, int, int, int]] = []
        for number in numbers:
            text = every[number]
            for begin in range(2) if width == _FOUR else (0,):
                inside = _rarest(text, width, begin)
                at = max(0, len(text) - _FOUR) if inside < len(text) // 2 else 0
                more = int.from_bytes(text[at : at + _FOUR], "little")
                window = int.from_bytes(text[inside : inside + width], "little")
                rows.append((window, number, inside, len(text), more, at))
        table = np.array(rows, np.int64).reshape(-1, 6)
        slots = _slots(table[:, 0].astype(_NUMBERS[width]))
        order = np.argsort(slots, kind="stable")
        table, slots = table[order], slots[order]
        count = np.bincount(slots, minlength=1 << 16)
        first = np.cumsum(count) - count
        return cls(
            width, count > 0, first, count,
            table[:, 0].astype(np.uint32), table[:, 1], table[:, 2], table[:, 3],
            table[:, 4].astype(np.uint32), table[:, 5],
        )  # fmt: skip

    def candidates(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield (place, number of the text) of where one may begin in a block, in any order."""
        parts = [self._seen(data, offset) for offset in range(0, self.width, self.width // 2)]
        places, rows = (np.concatenate(one) for one in zip(*parts, strict=True))
        starts = places - self.inside[rows]
        within = (starts >= 0) & (starts + self.size[rows] <= len(data))
        starts, rows = starts[within], rows[within]
        if len(data) >= _FOUR:
            fours = np.ndarray((len(data) - _FOUR + 1,), _NUMBERS[_FOUR], data, 0, (1,))
            same = fours.take(starts + self.at[rows], mode="clip") == self.more[rows]
            same |= self.size[rows] < _FOUR
            starts, rows = starts[same], rows[same]
        return zip(starts.tolist(), self.texts[rows].tolist(), strict=True)

    def _seen(self, data: bytes, offset: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (places, rows) of the windows in a block, of those a width apart."""
        count = max(0, len(data) - offset) // self.width
        values = np.frombuffer(
            data if count else b"", _NUMBERS[self.width], count, offset * (count > 0)
        )
        here = np.flatnonzero(self.marked.take(_slots(values), mode="clip"))
        held = values[here]
        slots = _slots(held)
        rows, times = self.first[slots], self.count[slots]
        if len(times) and times.max() > 1:
            ends = np.cumsum(times)
            rows = np.repeat(rows - ends + times, times) + np.arange(ends[-1])
            here, held = np.repeat(here, times), np.repeat(held, times)
        same = self.windows[rows] == held
        return here[same] * self.width + offset, rows[same]


def _slots(values: NDArray[Any]) -> NDArray[Any]:
    """Return where in a table of 64 k numbers are marked: by a hash of those of four bytes."""
    return (values * _FACTOR) >> _SHIFT if values.itemsize == _FOUR else values


def _rarest(text: bytes, width: int, begin: int) -> int:
    """Return where in a text its rarest bytes stand: of four, at places so far from an even one."""
    rarities = text.translate(_RARITIES)

    def rarity(at: int) -> tuple[bool, int]:
        usual = width == _FOUR and text[at : at + width] in _USUAL
        return not usual, sum(rarities[at : at + width])

    return max(range(begin, len(text) - width + 1, width // 2), key=rarity)
