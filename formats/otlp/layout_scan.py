"""One pass over the bytes of a usual metrics request, noting where its times and values lie.

"Usual" is what every protobuf library writes: fields in the order of their numbers, gauges and
sums, points of [start time] time value attributes. Anything else raises UnusualError and is left to
`general`, which takes any request; what is walked here comes out exactly as it would there.

The bytes must have been parsed as a request before: what is passed over here is not checked again.
"""

import numpy as np
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from ..wire import WireError, read_varint
from .columns import SKIP, Rejections
from .general import CUMULATIVE, NOT_CUMULATIVE
from .series import Ids
from .streams import Streams

# Tags: field number << 3 | wire type. The same number means another field at another level.
_ONE, _TWO, _THREE = 0x0A, 0x12, 0x1A  # length-delimited fields 1, 2 and 3
_GAUGE, _SUM = 0x2A, 0x3A
_TEMPORALITY, _MONOTONIC = 0x10, 0x18
_START, _TIME, _AS_DOUBLE, AS_INT = 0x11, 0x19, 0x21, 0x31


class UnusualError(Exception):
    """A request that is not of the usual form; says nothing about whether it is a valid one."""


class LayoutScan:
    """What one pass finds: parallel lists, one entry a point, in the order of the payload.

    `times` and `values` are the offsets of the 8 bytes, `attributes` numbers of attribute sets or
    SKIP; `starts` are the offsets of start times; `rejections` counts what no later request of the
    same layout can change.
    """

    __slots__ = (
        *("_body", "_counts", "_heads", "_metrics", "_resources", "_sets", "_streams"),
        *("attributes", "rejections", "starts", "times", "values"),
    )

    def __init__(self, body: bytes, streams: Streams, heads: "Heads") -> None:
        self._body = body
        self._streams = streams
        self._heads = heads
        self.times: list[int] = []
        self.values: list[int] = []
        self.starts: list[int] = []
        self.attributes: list[int] = []
        self._resources: list[int] = []
        self._metrics: list[int] = []
        self._counts: list[int] = []
        self.rejections = Rejections()
        try:
            self._request()
        except (WireError, IndexError, UnusualError) as error:
            streams.drop()
            raise UnusualError(str(error)) from None
        self._sets = streams.resolve(self.attributes)

    def series(self) -> Ids:
        """Return the ids of the points' series, with SKIP and FULL; new ones are registered."""
        counts = np.array(self._counts, np.int64)
        return self._streams.table.intern_many(
            np.repeat(np.array(self._resources, np.int64), counts),
            np.repeat(np.array(self._metrics, np.int64), counts),
            self._sets,
        )

    def _block(self, at: int, end: int) -> tuple[int, int]:
        """Return (from, to) of the length-delimited content whose length stands at `at`."""
        size = self._body[at]
        at += 1
        if size > 127:
            size, at = read_varint(self._body, at - 1, end)
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
        resource = self._streams.resource(encoded)
        while at < end and body[at] == _TWO:
            start, at = self._block(at + 1, end)
            self._scope_metrics(start, at, resource)
        self._schema_url(at, end)

    def _scope_metrics(self, at: int, end: int, resource: int) -> None:
        body = self._body
        if at < end and body[at] == _ONE:
            at = self._block(at + 1, end)[1]
        while at < end and body[at] == _TWO:
            start, at = self._block(at + 1, end)
            self._metric(start, at, resource)
        self._schema_url(at, end)

    def _schema_url(self, at: int, end: int) -> None:
        if at < end:
            if self._body[at] != _THREE:
                raise UnusualError(f"an unknown field at {at}")
            if self._block(at + 1, end)[1] != end:
                raise UnusualError(f"more than a schema url before {end}")

    def _metric(self, at: int, end: int, resource: int) -> None:
        body, first = self._body, at
        while at < end and body[at] in (_ONE, _TWO, _THREE):  # name, description, unit
            at = self._block(at + 1, end)[1]
        if at == end:
            raise UnusualError(f"a metric without points at {first}")
        kind = body[at]
        start, stop = self._block(at + 1, end)
        if stop != end or kind not in (_GAUGE, _SUM):
            raise UnusualError(f"neither a gauge nor a sum at {at}")
        name = self._heads.name(body[first:at])
        if kind == _SUM:
            points = self._sum(start, end)
            if points is None:
                return
            end = points
        if start < end:
            self._series_points(start, end, resource, self._streams.table.metric(name))

    def _sum(self, at: int, end: int) -> int | None:
        """Return where the points of a sum end, or None where they are rejected."""
        body, count = self._body, 0
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
            self.rejections.add(NOT_CUMULATIVE, count)
            return None
        return points

    def _series_points(self, at: int, end: int, resource: int, metric: int) -> None:
        before = len(self.times)
        if not self._equal_points(at, end):
            self._points(at, end)
        count = len(self.times) - before
        self._resources.append(resource)
        self._metrics.append(metric)
        self._counts.append(count)
        if not self._streams.table.kept(metric):
            self.attributes[before:] = [SKIP] * count

    def _equal_points(self, at: int, end: int) -> bool:
        """Take points of equal length and form, as the devices of a host are; False if not so."""
        body, size = self._body, self._body[at + 1]
        length = size + 2
        count, rest = divmod(end - at, length)
        if size > 127 or rest or count < 2 or body[at] != _ONE:
            return False
        start = 9 if body[at + 2] == _START else 0
        first = at + 2 + start
        if body[first] != _TIME or body[first + 9] not in (_AS_DOUBLE, AS_INT) or size < 18 + start:
            return False
        for offset in (at, at + 1, at + 2, first, first + 9):
            if body[offset:end:length] != body[offset : offset + 1] * count:
                return False
        known, tails = self._streams.tails, range(first + 18, end + 1, length)
        keep = length - 20 - start
        found = [known.get(body[tail : tail + keep]) for tail in tails]
        if None in found:
            for index, tail in enumerate(tails):
                if found[index] is None:
                    part = body[tail : tail + keep]
                    one = known.get(part)  # an earlier point of the block may have had the same
                    found[index] = self._learn(part) if one is None else one
        self.attributes += found  # type: ignore[arg-type]
        self.times += range(first + 1, end, length)
        self.values += range(first + 10, end, length)
        if start:
            self.starts += range(at + 3, end, length)
        return True

    def _points(self, at: int, end: int) -> None:
        # Once a point, so everything it needs is local.
        body, known = self._body, self._streams.tails
        times, values = self.times.append, self.values.append
        attributes = self.attributes.append
        while at < end:
            if body[at] != _ONE:
                raise UnusualError(f"an unknown field at {at}")
            size = body[at + 1]
            at += 2
            if size > 127:
                size, at = read_varint(body, at - 1, end)
            stop = at + size
            if stop > end:
                raise UnusualError(f"runs past the end at {end}")
            if body[at] == _START:
                self.starts.append(at + 1)
                at += 9
            if body[at] != _TIME or body[at + 9] not in (_AS_DOUBLE, AS_INT) or at + 18 > stop:
                raise UnusualError(f"a point of another form at {at}")
            tail = body[at + 18 : stop]
            one = known.get(tail)
            if one is None:
                one = self._learn(tail)
            times(at + 1)
            values(at + 10)
            attributes(one)
            at = stop

    def _learn(self, tail: bytes) -> int:
        """Return the attributes in a tail seen for the first time."""
        found = self._streams.learn_bytes(tail)
        if found is None:
            raise UnusualError("a point of another form")
        return found


class Heads:
    """The heads of metrics seen, so that each is parsed once."""

    __slots__ = ("_limit", "_names")

    def __init__(self, *, limit: int = 100_000) -> None:
        self._limit = limit
        self._names: dict[bytes, str] = {}

    def name(self, head: bytes) -> str:
        """Return the name in the bytes before a metric's data."""
        name = self._names.get(head)
        if name is None:
            if len(self._names) >= self._limit:
                self._names.clear()
            name = self._names[head] = Metric.FromString(head).name
        return name
