"""The attributes of series, each pair and each set of pairs held once, as numbers in arrays.

A hundred thousand ranks with forty series each have a million sets of attributes but only a few
hundred thousand pairs, and neither is an object per series.
"""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...vocabulary.samples import Attributes, Scalar
from .numbering import NONE, KeyNumbers, distinct
from .text_bounds import BOUNDS, TextBounds


class GrowingIntegers:
    """Whole numbers by position. One thread appends; others index `held` by positions they know.

    Room is made by copying into a larger array, so an array that a reader took stays valid, and
    what stands below a position that was given out never changes.
    """

    def __init__(self, kind: DTypeLike, *first: int) -> None:
        self.held: NDArray[Any] = np.zeros(max(1024, len(first)), kind)
        self.held[: len(first)] = first
        self._count = len(first)

    def __len__(self) -> int:
        return self._count

    def append(self, value: int) -> None:
        self._room(1)
        self.held[self._count] = value
        self._count += 1

    def extend(self, values: NDArray[Any]) -> None:
        """Add numbers, in order."""
        self._room(len(values))
        self.held[self._count : self._count + len(values)] = values
        self._count += len(values)

    def _room(self, more: int) -> None:
        if self._count + more > len(self.held):
            larger = np.zeros(max(2 * len(self.held), self._count + more), self.held.dtype)
            larger[: self._count] = self.held[: self._count]
            self.held = larger


MOST_BYTES = 2 << 30
"""Bytes of memory of all names and values: far more than six million series of usual names have."""
_PAIR_BYTES, _SET_BYTES, _MEMBER_BYTES = 320, 16, 4
"""Measured: the objects of a pair beside its texts; a set, and each of its members."""

_WORD = (1 << 64) - 1
_ODD = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
"""Multipliers of the two sums that a set is recognised by: 127 bits together."""
_MIXED_AT_ONCE = 1024


class AttributeSets:
    """Numbers for sets of attributes; equal sets have equal numbers.

    True is distinguished from 1 and 0.0 from 0, and NaN is equal to itself. One thread adds sets;
    another may ask for the pairs of sets whose numbers it was given.
    """

    def __init__(self, bounds: TextBounds = BOUNDS) -> None:
        self.bounds = bounds
        self.text_bytes = 0
        """About how many bytes all names and values have that are held."""
        self.most_bytes = MOST_BYTES
        self._outside: int | None = None
        self.shortened = 0
        """How many names and values were longer than they may be."""
        self.pairs: list[tuple[str, Scalar]] = []
        self._pair_numbers: dict[object, int] = {}
        self._mixed = array("Q"), array("Q")
        self._pool = GrowingIntegers(np.int32)
        self._ends = GrowingIntegers(np.int64, 0)
        self._checks = array("Q")
        self._sets = KeyNumbers()

    def __len__(self) -> int:
        return len(self._checks)

    @property
    def nbytes(self) -> int:
        """Return about how many bytes it takes."""
        return self._members_bytes + self._sets.nbytes + _PAIR_BYTES * len(self.pairs)

    @property
    def full(self) -> bool:
        """Tell whether names and values take all the bytes that they may."""
        held = self.text_bytes + _PAIR_BYTES * len(self.pairs) + self._members_bytes
        return held >= self.most_bytes

    def pair(self, name: str, value: Scalar) -> int:
        """Return the number of a pair, a new one if needed; that of no pair for more than fit."""
        kind = type(value)
        key: object = (name, value)
        if kind is not str and kind is not int:
            key = (name, kind.__name__, repr(value))
        number = self._pair_numbers.get(key)
        if number is None:
            within = self.bounds.name(name), self.bounds.value(name, value)
            if within != (name, value):
                self.shortened += 1
                return self.pair(*within)
            if self.full:
                return self._no_pair()
            number = self._pair_numbers[key] = self._added(name, value)
        return number

    def _added(self, name: str, value: Scalar) -> int:
        number = len(self.pairs)
        self.pairs.append((name, value))
        self.text_bytes += len(name) + (len(value) if isinstance(value, str) else 0)
        if number >= len(self._mixed[0]):
            more = np.arange(number + 1, number + 1 + _MIXED_AT_ONCE, dtype=np.uint64)
            for mixed, odd in zip(self._mixed, _ODD, strict=True):
                mixed.frombytes(_mix(more, odd).tobytes())
        return number

    def number(self, attributes: Attributes) -> int:
        """Return the number of a set, a new one if needed."""
        return self.number_of_pairs([self.pair(name, value) for name, value in attributes])

    def number_of_pairs(self, pairs: Sequence[int]) -> int:
        """Return the number of the set of these pairs, of which no two have one name.

        For new sets beyond what fits one stands that belongs to no series.
        """
        number, key, check = self._known(pairs)
        if number != NONE:
            return number
        return self._without_room() if self.full else self._kept(pairs, key, check)

    def _known(self, pairs: Sequence[int]) -> tuple[int, int, int]:
        """Return the number of a set, NONE where it is new, and its two sums."""
        first, second = self._mixed
        key = sum([first[pair] for pair in pairs]) & (_WORD >> 1)
        check = sum([second[pair] for pair in pairs]) & _WORD
        number = self._sets.get(key)
        known = number != NONE and self._checks[number] == check
        return number if known else NONE, key, check

    def _kept(self, pairs: Sequence[int], key: int, check: int) -> int:
        number = len(self._checks)
        self._pool.extend(np.array(pairs, np.int32))
        self._ends.append(len(self._pool))
        self._checks.append(check)
        self._sets.put(key, number)
        return number

    def _without_room(self) -> int:
        """Return the number of the set that stands for those which do not fit."""
        pairs = [self._no_pair()]
        number, key, check = self._known(pairs)
        return self._kept(pairs, key, check) if number == NONE else number

    def _no_pair(self) -> int:
        if self._outside is None:
            self._outside = self._added("", "")
        return self._outside

    @property
    def _members_bytes(self) -> int:
        return _MEMBER_BYTES * len(self._pool) + _SET_BYTES * len(self._checks)

    def __getitem__(self, number: int) -> Attributes:
        begin, end = self._ends.held[number : number + 2].tolist()
        members = self._pool.held[begin:end].tolist()
        return tuple(sorted((self.pairs[pair] for pair in members), key=_name))

    def members(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the pairs of these sets, one set after the other, and the size of each."""
        ends = self._ends.held
        begins = ends[numbers]
        sizes = ends[numbers + 1] - begins
        skipped = np.repeat(begins - np.cumsum(sizes) + sizes, sizes)
        return self._pool.held[skipped + np.arange(len(skipped))], sizes

    def numbers_of(self, pairs: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of sets given one after the other, new ones where needed."""
        cuts = np.cumsum(sizes)
        sums = [_sums(mixed, pairs, sizes, cuts) for mixed in self._mixed]
        keys = (sums[0] & np.uint64(_WORD >> 1)).astype(np.int64)
        found = self._sets.get_many(keys).astype(np.int64)
        known = found >= 0
        if np.count_nonzero(known):
            checks = np.frombuffer(self._checks, np.uint64)[found[known]]
            known[known] = checks == sums[1][known]
        new = np.flatnonzero(~known)
        if not len(new):
            return found
        if self.full:
            found[new] = self._without_room()
            return found
        firsts, which = distinct(keys[new])
        start = len(self._checks)
        found[new] = start + which
        source = new[firsts]
        lengths = sizes[source]
        if len(source) < len(sizes):
            skipped = np.repeat(cuts[source] - np.cumsum(lengths), lengths)
            pairs = pairs[skipped + np.arange(len(skipped))]
        end = len(self._pool)
        self._pool.extend(pairs)
        self._ends.extend(end + np.cumsum(lengths))
        self._checks.frombytes(sums[1][source].tobytes())
        self._sets.put_many(keys[source], np.arange(start, start + len(source), dtype=np.int32))
        return found


def _sums(
    mixed: "array[int]", pairs: NDArray[np.int32], sizes: NDArray[np.int64], cuts: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return [sets] the sum of what the pairs of each are mixed to; `cuts`: where each ends."""
    size = int(sizes[0]) if len(sizes) else 0
    if size and np.count_nonzero(sizes == size) == len(sizes):
        sums: NDArray[np.uint64] = np.frombuffer(mixed, np.uint64)[pairs.reshape(-1, size)].sum(1)
        return sums
    total = np.zeros(len(pairs) + 1, np.uint64)
    if len(pairs):
        np.cumsum(np.frombuffer(mixed, np.uint64)[pairs], out=total[1:])
    apart: NDArray[np.uint64] = total[cuts] - total[cuts - sizes]
    return apart


def _mix(numbers: NDArray[np.uint64], odd: int) -> NDArray[np.uint64]:
    """Return 64 bits each that look random (the finaliser of SplitMix64)."""
    mixed = numbers * np.uint64(odd)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _name(pair: tuple[str, Scalar]) -> str:
    return pair[0]
