"""A map from 64-bit keys to 32-bit numbers in two arrays: millions of entries, no object each.

Open addressing with linear probing. Whole arrays of keys are looked up and added at once; what is
added in small portions waits in a dict until there is enough of it for an array.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
Numbers = NDArray[np.int32]

NONE = -1
_MIX = 0x9E3779B97F4A7C15  # the golden ratio in 64 bits (Fibonacci hashing)
_MIXER = np.uint64(_MIX)
_WORD = (1 << 64) - 1
_LARGE = 1 << 21
"""Slots of 12 bytes from which on memory counts for more than time."""
_MOST_RECENT = 2048
"""Keys that wait at most: about 200 KB."""


class KeyNumbers:
    """Keys to numbers >= 0; the arrays are at most a third full, large ones two thirds.

    What is new is looked for up to a free slot: in a fuller array that takes three times as long.
    """

    def __init__(self, size: int = 1024) -> None:
        self._bits = max(size - 1, 1).bit_length()
        self._keys = np.zeros(1 << self._bits, np.int64)
        self._numbers = np.full(1 << self._bits, NONE, np.int32)
        self._used = 0
        self._recent: dict[int, int] = {}
        """Keys that are not in the arrays yet."""

    def __len__(self) -> int:
        return self._used + len(self._recent)

    @property
    def nbytes(self) -> int:
        """Return how many bytes the arrays take."""
        return int(self._keys.nbytes + self._numbers.nbytes)

    def get(self, key: int) -> int:
        """Return the number of one key, -1 where it has none."""
        recent = self._recent.get(key)
        if recent is not None:
            return recent
        keys, numbers, mask = self._keys, self._numbers, len(self._keys) - 1
        slot = ((key * _MIX) & _WORD) >> (64 - self._bits)
        while (number := int(numbers[slot])) != NONE:
            if keys[slot] == key:
                return number
            slot = (slot + 1) & mask
        return NONE

    def put(self, key: int, number: int) -> None:
        """Add one key that is not there."""
        self._recent[key] = number
        self._settle()

    def get_many(self, keys: Keys) -> Numbers:
        """Return the numbers of keys, -1 where one has none."""
        found = self._settled(keys)
        if self._recent:
            recent = self._recent.get
            missing = (found == NONE).nonzero()[0]
            if len(missing) == len(keys):
                return np.array([recent(key, NONE) for key in keys.tolist()], np.int32)
            if len(missing):
                found[missing] = [recent(key, NONE) for key in keys[missing].tolist()]
        return found

    def put_many(self, keys: Keys, numbers: Numbers) -> None:
        """Add distinct keys that are not there."""
        if len(keys) < _MOST_RECENT:
            self._recent.update(zip(keys.tolist(), numbers.tolist(), strict=True))
            self._settle()
        else:
            self._put(keys, numbers)

    def _settle(self) -> None:
        """Move what waits to the arrays once it is enough."""
        if len(self._recent) >= _MOST_RECENT:
            recent, self._recent = self._recent, {}
            self._put(np.array(list(recent), np.int64), np.array(list(recent.values()), np.int32))

    def _settled(self, keys: Keys) -> Numbers:
        """Return the numbers of keys that stand in the arrays."""
        slots = self._slots(keys)
        found = self._numbers[slots]
        # Others hold the slots of these, which are to be looked for further on.
        waiting = ((found != NONE) & (self._keys[slots] != keys)).nonzero()[0]
        if not len(waiting):
            return found
        found[waiting] = NONE
        mask = len(self._keys) - 1
        slots = slots[waiting]
        while len(waiting):
            slots = (slots + 1) & mask
            numbers = self._numbers[slots]
            hit = (self._keys[slots] == keys[waiting]) & (numbers != NONE)
            found[waiting[hit]] = numbers[hit]
            further = ~hit & (numbers != NONE)
            waiting, slots = waiting[further], slots[further]
        return found

    def _put(self, keys: Keys, numbers: Numbers) -> None:
        self._room(len(keys))
        self._used += len(keys)
        slots = self._slots(keys)
        waiting = np.arange(len(keys))
        mask = len(self._keys) - 1
        while len(waiting):
            here = slots[waiting]
            free = self._numbers[here] == NONE
            # Of several keys for one free slot the last is written; the others see it taken.
            self._numbers[here[free]] = numbers[waiting[free]]
            self._keys[here[free]] = keys[waiting[free]]
            placed = free & (self._numbers[here] == numbers[waiting])
            placed &= self._keys[here] == keys[waiting]
            waiting = waiting[~placed]
            slots[waiting] = (slots[waiting] + 1) & mask

    def _slots(self, keys: Keys) -> NDArray[np.int64]:
        mixed = keys.view(np.uint64) * _MIXER
        return (mixed >> (64 - self._bits)).view(np.int64)

    def _fits(self, count: int) -> bool:
        slots = 1 << self._bits
        return 3 * count <= (slots if slots < _LARGE else 2 * slots)

    def _room(self, more: int) -> None:
        needed = self._used + more
        if self._fits(needed):
            return
        taken = self._numbers != NONE
        keys, numbers = self._keys[taken], self._numbers[taken]
        while not self._fits(needed):
            self._bits += 1
        self._keys = np.zeros(1 << self._bits, np.int64)
        self._numbers = np.full(1 << self._bits, NONE, np.int32)
        self._used = 0
        self._put(keys, numbers)


def distinct(keys: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct key first stands, in that order, and [keys] which of them it is.

    Mostly no key is there twice, and nothing has to be sorted.
    """
    if len(set(keys.tolist())) == len(keys):
        every = np.arange(len(keys))
        return every, every
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return first[order], place[which]
