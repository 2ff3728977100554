"""From bytes that name a series to its id, remembered: what makes decoding cheap.

A sender repeats itself: the bytes of its resource, of a metric's head and of a point's attributes
are the same in every request. Each is parsed once and looked up from then on.
"""

from typing import Any

from opentelemetry.proto.metrics.v1.metrics_pb2 import NumberDataPoint
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage

from ...vocabulary.samples import Resource, attributes
from . import resources, values
from .columns import FULL, SKIP, SeriesTable

NO_RECORDED_VALUE = 1  # DataPointFlags.NO_RECORDED_VALUE_MASK


class Stream:
    """One metric of one resource: the series ids of its points by the bytes of their attributes."""

    __slots__ = ("_owner", "known", "metric", "resource")

    def __init__(self, owner: "Streams", resource: Resource, metric: str) -> None:
        self._owner = owner
        self.resource = resource
        self.metric = metric
        self.known: dict[bytes, int] = {}

    def learn(self, tail: bytes, point: Any) -> int:
        """Return the id for a point that `known` lacks, or SKIP, and remember it.

        `tail` are its bytes without time, value and exemplars, `point` a message with its
        attributes and flags. FULL is not remembered: another table may follow.
        """
        if point.flags & NO_RECORDED_VALUE:
            series = SKIP
        else:
            pairs = attributes(values.pairs(point.attributes))
            series = self._owner.table.intern(self.resource, self.metric, pairs)
        if series != FULL:
            self.known[tail] = series
            self._owner.size += 1
        return series


class Streams:
    """Every stream seen, up to `limit` remembered points; `trim` starts afresh beyond it."""

    def __init__(self, table: SeriesTable, *, limit: int = 1_000_000) -> None:
        self.table = table
        self.size = 0
        self._limit = limit
        self._resources: dict[bytes, tuple[Resource, dict[str, Stream]]] = {}

    def trim(self) -> None:
        """Forget everything once there is too much of it: cheap to learn again, and bounded.

        To be called between requests only. Senders with a remembered layout do not notice.
        """
        if self.size > self._limit:
            self._resources.clear()
            self.size = 0

    def of(self, encoded: bytes, name: str) -> Stream:
        """Return the stream of a metric's name and a resource's bytes."""
        known = self._resources.get(encoded)
        if known is None:
            message = ResourceMessage.FromString(encoded)
            known = resources.resource(values.pairs(message.attributes)), {}
            self._resources[encoded] = known
            self.size += 1
        resource, streams = known
        stream = streams.get(name)
        if stream is None:
            stream = streams[name] = Stream(self, resource, name)
            self.size += 1
        return stream


def blank(point: NumberDataPoint) -> bytes:
    """Return a point's bytes without what changes from request to request; alters the point."""
    point.ClearField("time_unix_nano")
    point.ClearField("start_time_unix_nano")
    point.ClearField("value")
    if point.exemplars:
        point.ClearField("exemplars")
    written: bytes = point.SerializeToString()
    return written
