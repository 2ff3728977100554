"""Where in a block of a log known texts stand: those of several readers in one search.

A pattern of a hundred texts reads fifteen megabytes a second. Here four bytes of each text, its
rarest, are looked for in the whole block at once, as numbers in a table by their hash; what has
them is compared with the text.
"""

from collections.abc import Iterable, Iterator, Sequence

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
_WIDTH = 4
_FOURS = np.dtype("<u4")
_FACTOR, _SHIFT = np.uint32(2654435761), np.uint32(16)
"""Knuth's multiplicative hash, of which the upper half is kept."""


class NeedleSearch:
    """The search for some groups of texts, made once; those under four bytes should be few."""

    def __init__(self, groups: Sequence[Iterable[bytes]]) -> None:
        self._groups = len(groups)
        self._short: list[tuple[bytes, int]] = []
        self._held: dict[int, list[tuple[bytes, int, int]]] = {}
        """By four bytes the texts that have them: the text, how far inside it, its group."""
        for number, texts in enumerate(groups):
            for text in dict.fromkeys(texts):
                if len(text) < _WIDTH:
                    self._short.append((text, number))
                    continue
                inside = _rarest(text)
                four = int.from_bytes(text[inside : inside + _WIDTH], "little")
                self._held.setdefault(four, []).append((text, inside, number))
        self._fours = np.array(sorted(self._held), np.uint32)
        self._table = np.zeros(1 << 16, np.bool_)
        self._table[(self._fours * _FACTOR) >> _SHIFT] = True

    def places(self, data: bytes) -> list[list[int]]:
        """Return by group where its texts begin in a block, ascending."""
        found: list[list[int]] = [[] for _ in range(self._groups)]
        for offset in range(_WIDTH):
            for place, four in self._hits(data, offset):
                for text, inside, group in self._held[four]:
                    start = place - inside
                    if start >= 0 and data.startswith(text, start):
                        found[group].append(start)
        for text, group in self._short:
            start = data.find(text)
            while start >= 0:
                found[group].append(start)
                start = data.find(text, start + 1)
        for places in found:
            places.sort()
        return found

    def _hits(self, data: bytes, offset: int) -> Iterator[tuple[int, int]]:
        """Return (place, the four bytes there) of each fourth place from an offset on."""
        count = max(0, len(data) - offset) // _WIDTH
        fours = np.frombuffer(data, _FOURS, count, offset) if count else np.zeros(0, _FOURS)
        here: NDArray[np.int64] = np.flatnonzero(self._table.take((fours * _FACTOR) >> _SHIFT))
        held = fours[here]
        same = self._fours.take(np.searchsorted(self._fours, held), mode="clip") == held
        return zip((here[same] * _WIDTH + offset).tolist(), held[same].tolist(), strict=True)


def _rarest(text: bytes) -> int:
    """Return where in a text its rarest four bytes stand."""
    rarities = text.translate(_RARITIES)

    def rarity(at: int) -> tuple[bool, int]:
        return text[at : at + _WIDTH] not in _USUAL, sum(rarities[at : at + _WIDTH])

    return max(range(len(text) - _WIDTH + 1), key=rarity)
