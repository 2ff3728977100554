"""One pass over the bytes of a usual metrics request, noting where its times and values lie.

"Usual" is what every protobuf library writes: fields in the order of their numbers, gauges and
sums, points of [start time] time value attributes. Anything else raises UnusualError and is left to
`general`, which takes any request; what is scanned here comes out exactly as it would there.

Framing is checked here. Everything else is compared with bytes that stood at the same place of an
earlier valid request; where there are others, the request is parsed before any of them is learnt.
So a request that is no valid message raises UndecodableError and leaves no trace.
"""

import numpy as np
from numpy.typing import NDArray

from ..wire import WireError
from . import general
from .columns import PointRejections
from .general import CUMULATIVE, NOT_CUMULATIVE
from .point_blocks import PointBlocks, UnusualError, long_size
from .series import Ids
from .streams import StreamNumbers

__all__ = ["LayoutScan", "UnusualError"]

# Tags: field number << 3 | wire type. The same number means another field at another level.
_ONE, _TWO, _THREE = 0x0A, 0x12, 0x1A  # length-delimited fields 1, 2 and 3
_GAUGE, _SUM = 0x2A, 0x3A
_TEMPORALITY, _MONOTONIC = 0x10, 0x18
_USUAL_SUM = bytes((_TEMPORALITY, CUMULATIVE, _MONOTONIC))


class LayoutScan:
    """What one pass finds: arrays of [points], in the order of the payload.

    `times` and `values` are the offsets of the 8 bytes; `starts` are the offsets of start times,
    where a point has one; `rejections` counts what no later request of the same layout can change.
    Points of metrics that are not kept are left out; `resources` are the numbers of all.
    """

    __slots__ = (
        *("_begins", "_body", "_ends", "_metrics", "_parsed", "_resources", "_series", "_streams"),
        *("rejections", "resources", "starts", "times", "values"),
    )

    def __init__(self, body: bytes, streams: StreamNumbers) -> None:
        """Raise UnusualError for a request of another form, UndecodableError for none at all."""
        self._body = body
        self._streams = streams
        self._parsed = False
        # One entry a block: the points of one metric of one resource.
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._resources: list[int] = []
        self._metrics: list[int] = []
        self.rejections = PointRejections()
        self.resources: set[int] = set()
        try:
            self._request()
            blocks = PointBlocks(body, self._begins, self._ends)
            sets = self._sets(blocks)
        except (WireError, IndexError, UnusualError) as error:
            streams.drop()
            raise UnusualError(str(error)) from None
        self.times: NDArray[np.int32] = blocks.times
        self.values: NDArray[np.int32] = blocks.values
        self.starts: NDArray[np.int32] = blocks.starts
        self._series = streams.table.intern_many(
            np.repeat(np.array(self._resources, np.int64), blocks.counts),
            np.repeat(np.array(self._metrics, np.int64), blocks.counts),
            sets,
        )

    def series(self) -> Ids:
        """Return the ids of the points' series, with SKIP and FULL."""
        return self._series

    def _parse(self) -> None:
        """Make sure that the request is a valid message; raises UndecodableError."""
        if not self._parsed:
            general.parse(self._body)
            self._parsed = True

    def _sets(self, blocks: PointBlocks) -> NDArray[np.int64]:
        """Return [points] numbers of attribute sets, or SKIP; new ones are registered."""
        streams, tails = self._streams, blocks.tails()
        found = list(map(streams.tails.get, tails))
        if None not in found:
            return np.array(found, np.int64)
        self._parse()
        known, learn = streams.tails, streams.learn_bytes
        numbers: list[int] = []
        for tail, number in zip(tails, found, strict=True):
            # An earlier point of the request may have had the same.
            one = known.get(tail) if number is None else number
            one = learn(tail) if one is None else one
            if one is None:
                raise UnusualError("a point of another form")
            numbers.append(one)
        return streams.resolve(numbers)

    def _block(self, at: int, end: int) -> tuple[int, int]:
        """Return (from, to) of the length-delimited content whose length stands at `at`."""
        size = self._body[at]
        at += 1
        if size > 127:
            size, at = long_size(self._body, at - 1)
        if at + size > end:
            raise UnusualError(f"runs past the end at {end}")
        return at, at + size

    def _request(self) -> None:
        body, at = self._body, 0
        while at < len(body):
            if body[at] != _ONE:
                raise UnusualError(f"an unknown field at {at}")
            start, at = self._block(at + 1, len(body))
            self._resource_metrics(start, at)

    def _resource_metrics(self, at: int, end: int) -> None:
        body, encoded = self._body, b""
        if at < end and body[at] == _ONE:
            start, at = self._block(at + 1, end)
            encoded = body[start:at]
        resource = self._streams.resources.get(encoded)
        if resource is None:
            self._parse()
            resource = self._streams.resource(encoded)
        while at < end and body[at] == _TWO:
            start, at = self._block(at + 1, end)
            self._scope_metrics(start, at, resource)
        self._schema_url(at, end)

    def _scope_metrics(self, at: int, end: int, resource: int) -> None:
        body = self._body
        if at < end and body[at] == _ONE:
            start, at = at, self._block(at + 1, end)[1]
            self._unread(body[start:at])
        while at < end and body[at] == _TWO:
            # Once a metric, so what is usual is written out here.
            size = body[at + 1]
            at += 2
            if size > 127:
                if (high := body[at]) < 128:
                    size, at = size & 127 | high << 7, at + 1
                else:
                    size, at = long_size(body, at - 1)
            start, at = at, at + size
            if at > end:
                raise UnusualError(f"runs past the end at {end}")
            self._metric(start, at, resource)
        self._schema_url(at, end)

    def _schema_url(self, at: int, end: int) -> None:
        if at < end:
            if self._body[at] != _THREE:
                raise UnusualError(f"an unknown field at {at}")
            if self._block(at + 1, end)[1] != end:
                raise UnusualError(f"more than a schema url before {end}")
            self._unread(self._body[at:end])

    def _unread(self, field: bytes) -> None:
        """Pass over the field of a scope or a URL, which has to be valid all the same."""
        if field not in self._streams.unread:
            self._parse()
            self._streams.unread.add(field)

    def _metric(self, at: int, end: int, resource: int) -> None:
        body, first = self._body, at
        self.resources.add(resource)
        while at < end and body[at] in (_ONE, _TWO, _THREE):  # name, description, unit
            size = body[at + 1]
            at += 2
            if size > 127:
                size, at = long_size(body, at - 1)
            at += size
        if at >= end:
            raise UnusualError(f"a metric without points at {first}")
        head, kind = body[first:at], body[at]
        size = body[at + 1]
        start = at + 2
        if size > 127:
            if (high := body[start]) < 128:
                size, start = size & 127 | high << 7, start + 1
            else:
                size, start = long_size(body, at + 1)
        if start + size != end or kind not in (_GAUGE, _SUM):
            raise UnusualError(f"neither a gauge nor a sum at {at}")
        if kind == _SUM:
            points = self._sum(start, end)
            if points is None:
                return
            end = points
        if start == end:
            self._parse()  # for nobody looks at the head
            return
        metric = self._streams.metrics.get(head)
        if metric is None:
            self._parse()
            metric = self._streams.metric(head)
        if not self._streams.table.kept(metric):
            self._parse()  # for nobody looks at the points
            return
        self._begins.append(start)
        self._ends.append(end)
        self._resources.append(resource)
        self._metrics.append(metric)

    def _sum(self, at: int, end: int) -> int | None:
        """Return where the points of a sum end, or None where they are rejected."""
        body = self._body
        # Usually temporality, and whether it is monotonic, after the points. Where these bytes are
        # the end of a point instead, the points before will not fill their block.
        if end - at >= 4 and body[end - 4 : end - 1] == _USUAL_SUM and body[end - 1] <= 1:
            return end - 4
        count = 0
        while at < end and body[at] == _ONE:
            count += 1
            at = self._block(at + 1, end)[1]
        points = at
        temporality = 0
        if at < end and body[at] == _TEMPORALITY:
            temporality = body[at + 1]
            at += 2
        if at < end and body[at] == _MONOTONIC:
            if body[at + 1] > 1:
                raise UnusualError(f"no boolean at {at}")
            at += 2
        if at != end or temporality > 127:
            raise UnusualError(f"an unknown field at {at}")
        if temporality != CUMULATIVE:
            self._parse()
            self.rejections.add(NOT_CUMULATIVE, count)
            return None
        return points
