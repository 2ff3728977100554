"""Requests that lie in their bytes like an earlier one: checked and gathered with numpy in one go.

In OTLP protobuf every time and value is a fixed field of 8 bytes. A request whose other bytes are
those of an earlier one has the same points of the same series at the same offsets. "Those of"
is decided by a SHA-256 of the other bytes, so that a remembered layout costs 4 bytes a point where
many senders share one shape, and not the whole body.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..wire import WireError, read_varint
from .columns import FULL, SKIP, MetricsBatch, PointColumns, PointRejections
from .field_offsets import FieldOffsets, gathered, shape_identity
from .general import NO_ROOM, NO_TIME, seconds
from .layout_scan import LayoutScan
from .point_blocks import UnusualError
from .series import Ids
from .streams import StreamNumbers

_CANDIDATES = 8
"""Layouts kept for one sender and one length of body."""

_VARYING, _EVERY = 32, 16
"""Of a sender that repeated no layout for so many requests, only each so-manieth is remembered."""
_MOST_SENDERS = 100_000


@dataclass(slots=True, eq=False)
class PayloadLayout:
    """A shape, the series of its points, and the digest of the bytes between them.

    `resources` are the numbers of all that it has metrics of.

    `releases` is the table's count when the ids were last known to be those of these series.
    """

    shape: FieldOffsets
    sample: bytes
    digest: bytes
    series: Ids
    rejections: PointRejections
    resources: tuple[int, ...]
    releases: int
    kept: bool = field(init=False)
    """Whether all of its points are, as long as they have times."""

    def __post_init__(self) -> None:
        self.kept = not self.rejections.counts and bool((self.series >= 0).all())

    def slots(self) -> NDArray[np.int32]:
        """Return the offsets of the 8-byte fields that change: times, values, start times."""
        return self.shape.slots()

    def batch(self, body: bytes) -> MetricsBatch:
        at, value = self.shape.gather(body)
        if self.kept and at.all():
            columns = PointColumns(self.series, seconds(at), value)
            return MetricsBatch(columns, layout=self, resources=self.resources)
        return _batch(at, value, self.series, self.rejections, self.resources, self)


class PayloadLayouts:
    """The layouts met so far, the least used given up beyond `max_bytes`; for one thread.

    `nbytes` is about how much memory they take now.
    """

    def __init__(self, streams: StreamNumbers, *, max_bytes: int = 256 << 20) -> None:
        self._streams = streams
        self._max_bytes = max_bytes
        self.nbytes = 0
        self._shapes: dict[bytes, FieldOffsets] = {}
        self._known: OrderedDict[tuple[int, bytes], list[PayloadLayout]] = OrderedDict()
        self._unrepeated: dict[bytes, int] = {}
        """By sender, requests since one had the layout of another."""

    def __len__(self) -> int:
        return sum(len(layouts) for layouts in self._known.values())

    def decode(self, body: bytes) -> MetricsBatch | None:
        """Return the points of a body of a known layout, or None."""
        sender = _sender(body)
        key = (len(body), sender)
        layouts = self._known.get(key)
        if layouts is None:
            return None
        digests: dict[bytes, bytes] = {}
        for index, layout in enumerate(layouts):
            shape = layout.shape
            if shape.sample(body) != layout.sample:
                continue
            digest = digests.get(shape.identity)
            if digest is None:
                digest = digests[shape.identity] = shape.digest(body)
            if digest == layout.digest:
                if not self._current(layout):
                    self._forget(key, layouts.pop(index))
                    return None
                self._known.move_to_end(key)
                self._unrepeated.pop(sender, None)
                if index:
                    layouts.insert(0, layouts.pop(index))
                return layout.batch(body)
        return None

    def _current(self, layout: PayloadLayout) -> bool:
        """Tell whether no series of a layout was released since it was learnt."""
        table = self._streams.table
        if table.releases != layout.releases:
            if (table.released_at[layout.series] > layout.releases).any():
                return False
            layout.releases = table.releases
        return True

    def learn(self, body: bytes) -> MetricsBatch:
        """Return the points of a body after a scan of it, and remember its layout.

        Raises UnusualError where it has to take the general path, UndecodableError where it is no
        request at all.
        """
        scan = LayoutScan(body, self._streams)
        if not len(scan.times):
            raise UnusualError("no points")
        series = scan.series()
        resources = tuple(scan.resources)
        sender = _sender(body)
        # Room may be made for what the table has none for now.
        if self._worth_remembering(sender) and FULL not in series:
            identity = shape_identity(scan, body)
            shape = self._shapes.get(identity) or FieldOffsets(scan, body, identity)
            series.flags.writeable = False  # shared by all batches of this layout
            releases = self._streams.table.releases
            parts = shape.sample(body), shape.digest(body), series, scan.rejections
            layout = PayloadLayout(shape, *parts, resources, releases)
            self._remember((len(body), sender), layout)
        at, value = gathered(body, scan.times, scan.values)
        return _batch(at, value, series, scan.rejections, resources)

    def _worth_remembering(self, sender: bytes) -> bool:
        """Count a request that is like no other; return whether one like it may follow."""
        if len(self._unrepeated) >= _MOST_SENDERS:
            self._unrepeated.clear()
        count = self._unrepeated[sender] = self._unrepeated.get(sender, 0) + 1
        return count <= _VARYING or count % _EVERY == 0

    def _remember(self, key: tuple[int, bytes], layout: PayloadLayout) -> None:
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

    def _forget(self, key: tuple[int, bytes], layout: PayloadLayout) -> None:
        self.nbytes -= _cost(key, layout)
        shape = layout.shape
        shape.users -= 1
        if not shape.users:
            self.nbytes -= shape.nbytes
            del self._shapes[shape.identity]


def _cost(key: tuple[int, bytes], layout: PayloadLayout) -> int:
    return layout.series.nbytes + len(key[1]) + 600  # measured: the objects around one layout


def _batch(
    at: NDArray[np.uint64],
    value: NDArray[np.float64],
    series: Ids,
    rejected: PointRejections,
    resources: tuple[int, ...],
    layout: PayloadLayout | None = None,
) -> MetricsBatch:
    """Return points, given by their times in nanoseconds, without those that are not kept."""
    if not rejected.counts and at.all() and int(series.min()) >= 0:
        columns = PointColumns(series, seconds(at), value)
        return MetricsBatch(columns, layout=layout, resources=resources)
    rejections = PointRejections(dict(rejected.counts))
    timed = at != 0
    rejections.add(NO_TIME, int(np.count_nonzero(~timed & (series != SKIP))))
    rejections.add(NO_ROOM, int(np.count_nonzero(timed & (series == FULL))))
    kept = timed & (series >= 0)
    if not kept.all():
        series, at, value = series[kept], at[kept], value[kept]
    columns = PointColumns(series, seconds(at), value)
    reason = rejections.text("points")
    return MetricsBatch(columns, rejections.total, reason, layout, resources=resources)


def _sender(body: bytes) -> bytes:
    """Return the bytes of the first resource, which distinguish senders; b"" where there are none.

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
