"""One pass over the bytes of a usual metrics request, noting where its times and values lie.

"Usual" is what every protobuf library writes: fields in the order of their numbers, gauges and
sums, points of [start time] time value attributes. Anything else raises UnusualError and is left to
`general`, which takes any request; what is walked here comes out exactly as it would there.

The bytes must have been parsed as a request before: what is passed over here is not checked again.
"""

from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint

from ..wire import WireError, read_varint
from .columns import Rejections
from .general import CUMULATIVE, NOT_CUMULATIVE
from .streams import Stream, Streams, blank

# Tags: field number << 3 | wire type. The same number means another field at another level.
_ONE, _TWO, _THREE = 0x0A, 0x12, 0x1A  # length-delimited fields 1, 2 and 3
_GAUGE, _SUM = 0x2A, 0x3A
_TEMPORALITY, _MONOTONIC = 0x10, 0x18
_START, _TIME, _AS_DOUBLE, AS_INT = 0x11, 0x19, 0x21, 0x31


class UnusualError(Exception):
    """A request that is not of the usual form; says nothing about whether it is a valid one."""


class LayoutScan:
    """What one pass finds: parallel lists, one entry a point, in the order of the payload.

    `times` and `values` are the offsets of the 8 bytes, `series` ids with SKIP and FULL; `starts`
    are the offsets of start times; `rejections` counts what no later request of the same layout
    can change.
    """

    __slots__ = (
        *("_body", "_heads", "_streams"),
        *("rejections", "series", "starts", "times", "values"),
    )

    def __init__(self, body: bytes, streams: Streams, heads: "Heads") -> None:
        self._body = body
        self._streams = streams
        self._heads = heads
        self.times: list[int] = []
        self.values: list[int] = []
        self.starts: list[int] = []
        self.series: list[int] = []
        self.rejections = Rejections()
        try:
            self._request()
        except (WireError, IndexError) as error:
            raise UnusualError(str(error)) from None

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
        body, resource = self._body, b""
        if at < end and body[at] == _ONE:
            start, at = self._block(at + 1, end)
            resource = body[start:at]
        while at < end and body[at] == _TWO:
            start, at = self._block(at + 1, end)
            self._scope_metrics(start, at, resource)
        self._schema_url(at, end)

    def _scope_metrics(self, at: int, end: int, resource: bytes) -> None:
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

    def _metric(self, at: int, end: int, resource: bytes) -> None:
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
            self._points(start, end, self._streams.of(resource, name))

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

    def _points(self, at: int, end: int, stream: Stream) -> None:
        # The hot loop: once a point, so everything it needs is local.
        body, known = self._body, stream.known
        times, values, series = self.times.append, self.values.append, self.series.append
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
                one = _learn(stream, tail)
            times(at + 1)
            values(at + 10)
            series(one)
            at = stop


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


def _learn(stream: Stream, tail: bytes) -> int:
    """Return the id for a tail seen for the first time."""
    point = NumberDataPoint.FromString(tail)
    # A second time or value in the tail would win over the first; a tail in canonical form that
    # holds neither comes out of the message as it went in.
    if point.exemplars or blank(point) != tail:
        raise UnusualError("a point of another form")
    return stream.learn(tail, point)
