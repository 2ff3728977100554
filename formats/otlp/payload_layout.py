"""Requests that lie in their bytes like an earlier one: checked and gathered with numpy in one go.

In OTLP protobuf every time and value is a fixed field of 8 bytes. A request whose other bytes are
those of an earlier one has the same points of the same series at the same offsets. "Those of"
is decided by a SHA-256 of the other bytes, so that a remembered layout costs 4 bytes a point where
many senders share one shape, and not the whole body.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..wire import WireError, read_varint
from .columns import FULL, Columns, MetricsBatch, Rejections
from .general import NO_ROOM, NO_TIME, seconds
from .layout_scan import AS_INT, Heads, LayoutScan, UnusualError
from .streams import Streams

_EIGHT = np.arange(8)
_CANDIDATES = 8
"""Layouts kept for one sender and one length of body."""


class FieldOffsets:
    """Where times and values lie in a body: shared by all layouts that have it in common."""

    __slots__ = ("_ints", "_keep", "_times", "_values", "identity", "users")

    def __init__(self, walk: LayoutScan, body: bytes) -> None:
        self._times = np.array(walk.times, np.int32)
        self._values = np.array(walk.values, np.int32)
        self._ints = np.frombuffer(body, np.uint8)[self._values - 1] == AS_INT
        starts = np.array(walk.starts, np.int32)
        fields = np.concatenate((self._times, self._values, starts))
        self._keep = np.full(len(body), 0xFF, np.uint8)
        self._keep[(fields[:, None] + _EIGHT).ravel()] = 0
        self.users = 0
        # Equal for shapes of equal offsets: the lengths first, so that no two lists run together.
        digest = hashlib.sha256(repr((len(body), len(self._times), len(starts))).encode())
        for part in (self._times, self._values, starts, self._ints):
            digest.update(part.data)
        self.identity = digest.digest()

    @property
    def nbytes(self) -> int:
        """Return about how much memory the shape takes."""
        parts = (self._keep, self._times, self._values, self._ints)
        return sum(int(part.nbytes) for part in parts)

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

    def gather(self, body: bytes) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the times in nanoseconds, and the values, of all points."""
        # A view of the 8 bytes at every offset: not aligned, which numpy's indexing handles.
        words = np.ndarray((len(body) - 7,), "<u8", body, 0, (1,))
        at = words[self._times]
        bits = words[self._values]
        value = bits.view(np.float64)
        if self._ints.any():
            value = np.where(self._ints, bits.view(np.int64).astype(np.float64), value)
        return at, value


@dataclass(slots=True, eq=False)
class Layout:
    """A shape, the series of its points, and the digest of the bytes that say so.

    `releases` is the table's count when the ids were last known to be those of these series.
    """

    shape: FieldOffsets
    digest: bytes
    series: NDArray[np.int32]
    rejections: Rejections
    releases: int

    def slots(self) -> NDArray[np.int32]:
        """Return the offsets of the 8-byte fields that change: times, values, start times."""
        return self.shape.slots()

    def batch(self, body: bytes, *, known: bool = True) -> MetricsBatch:
        """Return the points of a body that has this layout."""
        at, value = self.shape.gather(body)
        series = self.series
        rejections = Rejections(dict(self.rejections.counts))
        kept = series >= FULL  # all but SKIP
        timeless = kept & (at == 0)
        rejections.add(NO_TIME, int(np.count_nonzero(timeless)))
        full = kept & (series == FULL) & (at != 0)
        rejections.add(NO_ROOM, int(np.count_nonzero(full)))
        kept &= (series != FULL) & (at != 0)
        if not kept.all():
            series, at, value = series[kept], at[kept], value[kept]
        columns = Columns(series, seconds(at), value)
        return MetricsBatch(
            columns, rejections.total, rejections.text("points"), self if known else None
        )


class Layouts:
    """The layouts met so far, the least used given up beyond `max_bytes`; for one thread.

    `nbytes` is about how much memory they take now.
    """

    def __init__(self, streams: Streams, *, max_bytes: int = 256 << 20) -> None:
        self._streams = streams
        self._heads = Heads()
        self._max_bytes = max_bytes
        self.nbytes = 0
        self._shapes: dict[bytes, FieldOffsets] = {}
        self._known: OrderedDict[tuple[int, bytes], list[Layout]] = OrderedDict()

    def __len__(self) -> int:
        return sum(len(layouts) for layouts in self._known.values())

    def decode(self, body: bytes) -> MetricsBatch | None:
        """Return the points of a body of a known layout, or None."""
        key = (len(body), _sender(body))
        layouts = self._known.get(key)
        if layouts is None:
            return None
        digests: dict[bytes, bytes] = {}
        for index, layout in enumerate(layouts):
            shape = layout.shape
            digest = digests.get(shape.identity)
            if digest is None:
                digest = digests[shape.identity] = shape.digest(body)
            if digest == layout.digest:
                if not self._current(layout):
                    self._forget(key, layouts.pop(index))
                    return None
                self._known.move_to_end(key)
                if index:
                    layouts.insert(0, layouts.pop(index))
                return layout.batch(body)
        return None

    def _current(self, layout: Layout) -> bool:
        """Tell whether no series of a layout was released since it was learnt."""
        table = self._streams.table
        if table.releases != layout.releases:
            if (table.released_at[layout.series] > layout.releases).any():
                return False
            layout.releases = table.releases
        return True

    def learn(self, body: bytes) -> MetricsBatch:
        """Return the points of a body after a walk over it, and remember its layout.

        The body must have been parsed before. Raises UnusualError where it has to take the
        general path.
        """
        walk = LayoutScan(body, self._streams, self._heads)
        if not walk.times:
            raise UnusualError("no points")
        shape = FieldOffsets(walk, body)
        shape = self._shapes.get(shape.identity, shape)
        series = walk.series()
        series.flags.writeable = False  # shared by all batches of this layout
        releases = self._streams.table.releases
        layout = Layout(shape, shape.digest(body), series, walk.rejections, releases)
        if FULL not in series:  # room may be made
            self._remember((len(body), _sender(body)), layout)
        return layout.batch(body, known=False)

    def _remember(self, key: tuple[int, bytes], layout: Layout) -> None:
        layouts = self._known.setdefault(key, [])
        layouts.insert(0, layout)
        self._known.move_to_end(key)
        shape = layout.shape
        if not shape.users:
            self._shapes[shape.identity] = shape
            self.nbytes += shape.nbytes
        shape.users += 1
        self.nbytes += _cost(key, layout)
        if len(layouts) > _CANDIDATES:
            self._forget(key, layouts.pop())
        while self.nbytes > self._max_bytes and self._known:
            oldest, given_up = self._known.popitem(last=False)
            for one in given_up:
                self._forget(oldest, one)

    def _forget(self, key: tuple[int, bytes], layout: Layout) -> None:
        self.nbytes -= _cost(key, layout)
        shape = layout.shape
        shape.users -= 1
        if not shape.users:
            self.nbytes -= shape.nbytes
            del self._shapes[shape.identity]


def _cost(key: tuple[int, bytes], layout: Layout) -> int:
    return layout.series.nbytes + len(key[1]) + 600  # measured: the objects around one layout


def _sender(body: bytes) -> bytes:
    """Return the bytes of the first resource, which tell senders apart; b"" where there are none.

    Cheap, and free to be wrong: it only says among which layouts to look.
    """
    try:
        if body[0] != 0x0A:
            return b""
        size, at = read_varint(body, 1, len(body))
        if body[at] != 0x0A:
            return b""
        size, at = read_varint(body, at + 1, len(body))
    except (IndexError, WireError):
        return b""
    return body[at : at + size]
