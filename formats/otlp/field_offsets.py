"""Where the times and values of a request lie in its bytes, whatever the other bytes say."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from .layout_scan import LayoutScan
from .point_blocks import AS_INT

_EIGHT = np.arange(8)

_SAMPLED = 64
"""Bytes outside times and values that are compared before all of them are digested."""


class FieldOffsets:
    """Where times and values lie in a body: shared by all layouts that have it in common."""

    __slots__ = ("_any_int", "_ints", "_keep", "_sampled", "_times", "_values", "identity", "users")

    def __init__(self, scan: LayoutScan, body: bytes, identity: bytes) -> None:
        """`identity`: as `shape_identity` returns it."""
        self.identity = identity
        self._times, self._values, starts = scan.times, scan.values, scan.starts
        self._ints = _integers(body, self._values)
        self._any_int = bool(self._ints.any())
        fields = np.concatenate((self._times, self._values, starts))
        self._keep = np.full(len(body), 0xFF, np.uint8)
        self._keep[(fields[:, None] + _EIGHT).ravel()] = 0
        kept = np.flatnonzero(self._keep)
        self._sampled = kept[:: -(-len(kept) // _SAMPLED)].astype(np.int32)
        self.users = 0

    @property
    def nbytes(self) -> int:
        """Return about how much memory the shape takes."""
        parts = (self._keep, self._sampled, self._times, self._values, self._ints)
        return sum(int(part.nbytes) for part in parts)

    @property
    def integers(self) -> NDArray[np.bool_]:
        """Return [points] which values are integers."""
        return self._ints

    def slots(self) -> NDArray[np.int32]:
        """Return the offsets of the 8-byte fields that change: times, values, start times."""
        taken = self._keep == 0
        taken[(np.concatenate((self._times, self._values))[:, None] + _EIGHT).ravel()] = False
        starts = np.flatnonzero(taken)[::8].astype(np.int32)
        return np.concatenate((self._times, self._values, starts))

    def digest(self, body: bytes) -> bytes:
        """Return the SHA-256 of a body's bytes outside its times and values."""
        kept = np.frombuffer(body, np.uint8) & self._keep
        return hashlib.sha256(kept.data).digest()

    def sample(self, body: bytes) -> bytes:
        """Return some of a body's bytes outside its times and values."""
        return np.frombuffer(body, np.uint8)[self._sampled].tobytes()

    def gather(self, body: bytes) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the times in nanoseconds, and the values, of all points."""
        at, bits = _words(body, self._times, self._values)
        return at, _numbers(bits, self._ints) if self._any_int else bits.view(np.float64)


def shape_identity(scan: LayoutScan, body: bytes) -> bytes:
    """Return what is equal for shapes of equal offsets."""
    # The lengths first, so that no two lists run together.
    sizes = repr((len(body), len(scan.times), len(scan.starts)))
    digest = hashlib.sha256(sizes.encode())
    for part in (scan.times, scan.values, scan.starts, _integers(body, scan.values)):
        digest.update(part.data)
    return digest.digest()


def gathered(
    body: bytes, times: NDArray[np.int32], values: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return the times in nanoseconds, and the values, that stand at these offsets."""
    at, bits = _words(body, times, values)
    return at, _numbers(bits, _integers(body, values))


def _words(
    body: bytes, times: NDArray[np.int32], values: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    # A view of the 8 bytes at every offset: not aligned, which numpy's indexing handles.
    words = np.ndarray((len(body) - 7,), "<u8", body, 0, (1,))
    return words[times], words[values]


def _numbers(bits: NDArray[np.uint64], integers: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return values by their eight bytes, of which some are integers."""
    if not integers.any():
        return bits.view(np.float64)
    return np.where(integers, bits.view(np.int64).astype(np.float64), bits.view(np.float64))


def _integers(body: bytes, values: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return [points] which values are integers, by the tags before them."""
    integers: NDArray[np.bool_] = np.frombuffer(body, np.uint8)[values - 1] == AS_INT
    return integers
