"""The attributes of series, each pair and each set of pairs held once, as numbers in arrays.

A hundred thousand ranks with forty series each have a million sets of attributes but only a few
hundred thousand pairs, and neither is an object per series.
"""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...vocabulary.samples import Attributes, Scalar
from .numbering import NONE, Numbering

_MIX = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


class AttributeSets:
    """Numbers for sets of attributes; equal sets have equal numbers.

    True is distinguished from 1 and 0.0 from 0, and NaN is equal to itself.
    """

    def __init__(self) -> None:
        self.pairs: list[tuple[str, Scalar]] = []
        self._pair_numbers: dict[object, int] = {}
        self._pool = array("i")
        self._ends = array("q")
        self._sets = Numbering()

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def nbytes(self) -> int:
        """Return about how many bytes it takes."""
        pool = self._pool.itemsize * len(self._pool) + self._ends.itemsize * len(self._ends)
        return pool + self._sets.nbytes + 320 * len(self.pairs)  # measured: the objects of a pair

    def pair(self, name: str, value: Scalar) -> int:
        """Return the number of a pair, a new one if needed."""
        kind = type(value)
        key: object = (name, value)
        if kind is not str and kind is not int:
            key = (name, kind.__name__, repr(value))
        number = self._pair_numbers.get(key)
        if number is None:
            number = self._pair_numbers[key] = len(self.pairs)
            self.pairs.append((name, value))
        return number

    def number(self, attributes: Attributes) -> int:
        """Return the number of a set, a new one if needed."""
        return self.number_of_pairs([self.pair(name, value) for name, value in attributes])

    def number_of_pairs(self, pairs: Sequence[int]) -> int:
        """Return the number of the set of these pairs, of which no two have one name."""
        pairs = sorted(pairs)
        key = _hash(pairs)
        number = self._sets.get(key)
        while number != NONE and self._members(number) != pairs:
            key = (key * _MIX + 1) & _WORD  # another set with the same hash: try the next one
            key -= (key >> 63) << 64
            number = self._sets.get(key)
        if number == NONE:
            number = len(self._ends)
            self._pool.extend(pairs)
            self._ends.append(len(self._pool))
            self._sets.put(key, number)
        return number

    def __getitem__(self, number: int) -> Attributes:
        return tuple(sorted((self.pairs[pair] for pair in self._members(number)), key=_name))

    def since(self, first: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return (pair numbers, set numbers), one entry for each pair of the sets from `first`."""
        begin = self._ends[first - 1] if first else 0
        pool = np.array(self._pool[begin:], np.int32)
        sizes = np.diff(np.array(self._ends[first:], np.int64), prepend=begin)
        return pool, np.repeat(np.arange(first, first + len(sizes)), sizes)

    def _members(self, number: int) -> list[int]:
        begin = self._ends[number - 1] if number else 0
        return self._pool[begin : self._ends[number]].tolist()


def _hash(pairs: Sequence[int]) -> int:
    mixed = len(pairs)
    for pair in pairs:
        mixed = ((mixed ^ (pair + 1)) * _MIX) & _WORD
        mixed ^= mixed >> 29
    return mixed - ((mixed >> 63) << 64)


def _name(pair: tuple[str, Scalar]) -> str:
    return pair[0]
