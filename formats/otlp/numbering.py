"""A map from 64-bit keys to 32-bit numbers in two arrays: millions of entries, no object each.

Open addressing with linear probing. Whole arrays of keys are looked up and added at once.
"""

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
Numbers = NDArray[np.int32]

NONE = -1
_MIX = 0x9E3779B97F4A7C15  # the golden ratio in 64 bits (Fibonacci hashing)
_WORD = (1 << 64) - 1


class KeyNumbers:
    """Keys to numbers >= 0; at most two thirds full."""

    def __init__(self, size: int = 1024) -> None:
        self._bits = max(size - 1, 1).bit_length()
        self._keys = np.zeros(1 << self._bits, np.int64)
        self._numbers = np.full(1 << self._bits, NONE, np.int32)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """Return how many bytes the arrays take."""
        return int(self._keys.nbytes + self._numbers.nbytes)

    def get(self, key: int) -> int:
        """Return the number of one key, -1 where it has none."""
        keys, numbers, mask = self._keys, self._numbers, len(self._keys) - 1
        slot = ((key * _MIX) & _WORD) >> (64 - self._bits)
        while (number := int(numbers[slot])) != NONE:
            if keys[slot] == key:
                return number
            slot = (slot + 1) & mask
        return NONE

    def put(self, key: int, number: int) -> None:
        """Add one key that is not there."""
        self._room(1)
        mask = len(self._keys) - 1
        slot = ((key * _MIX) & _WORD) >> (64 - self._bits)
        while self._numbers[slot] != NONE:
            slot = (slot + 1) & mask
        self._keys[slot], self._numbers[slot] = key, number
        self._used += 1

    def get_many(self, keys: Keys) -> Numbers:
        """Return the numbers of keys, -1 where one has none."""
        found = np.full(len(keys), NONE, np.int32)
        slots = self._slots(keys)
        waiting = np.arange(len(keys))
        mask = len(self._keys) - 1
        while len(waiting):
            here = slots[waiting]
            numbers = self._numbers[here]
            hit = (self._keys[here] == keys[waiting]) & (numbers != NONE)
            found[waiting[hit]] = numbers[hit]
            waiting = waiting[~hit & (numbers != NONE)]
            slots[waiting] = (slots[waiting] + 1) & mask
        return found

    def put_many(self, keys: Keys, numbers: Numbers) -> None:
        """Add distinct keys that are not there."""
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
        mixed = keys.view(np.uint64) * np.uint64(_MIX)
        return (mixed >> np.uint64(64 - self._bits)).astype(np.int64)

    def _room(self, more: int) -> None:
        needed = self._used + more
        if 3 * needed <= 2 * len(self._keys):
            return
        taken = self._numbers != NONE
        keys, numbers = self._keys[taken], self._numbers[taken]
        self._bits = max(self._bits + 1, (2 * needed).bit_length())
        self._keys = np.zeros(1 << self._bits, np.int64)
        self._numbers = np.full(1 << self._bits, NONE, np.int32)
        self._used = 0
        self.put_many(keys, numbers)
