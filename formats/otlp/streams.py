"""From the bytes that name a series to its numbers, remembered: what makes decoding cheap.

A sender repeats itself: the bytes of its resource, of a metric's head and of a point's attributes
are the same in every request. Each is parsed once and looked up from then on.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage

from ...vocabulary.samples import attributes
from ..wire import WireError, read_varint
from . import resources, values
from .columns import SKIP, SeriesTable

NO_RECORDED_VALUE = 1  # DataPointFlags.NO_RECORDED_VALUE_MASK

_ATTRIBUTE = 0x3A  # field 7 of a NumberDataPoint, length-delimited
_FIRST_WAITING = -10
"""Numbers of sets from here down are left open until the end of the request."""

_LEFT_OUT = -1
"""The pair of an attribute without a value."""


class StreamNumbers:
    """Numbers of a series table by the bytes of requests: resources, metrics, attributes of points.

    `metrics` is by the bytes before a metric's data, `tails` by those behind a point's value;
    `unread` holds valid scopes and URLs, which carry no data. Every key stood in a valid request.
    Up to `limit` entries are remembered; `trim` starts afresh beyond it.
    """

    def __init__(self, table: SeriesTable, *, limit: int = 200_000) -> None:
        self.table = table
        self.tails: dict[bytes, int] = {}
        self.resources: dict[bytes, int] = {}
        self.metrics: dict[bytes, int] = {}
        self.unread: set[bytes] = set()
        self._limit = limit
        self._blocks: dict[bytes, int] = {}
        self._waiting: list[bytes] = []
        self._members: list[int] = []
        self._sizes: list[int] = []

    @property
    def _known(self) -> tuple[dict[bytes, int] | set[bytes], ...]:
        return self.tails, self.resources, self.metrics, self.unread, self._blocks

    @property
    def size(self) -> int:
        """Return how many entries are remembered."""
        return sum(len(known) for known in self._known)

    def trim(self) -> None:
        """Forget everything once there is too much of it: cheap to learn again, and bounded.

        To be called between requests only. Senders with a remembered layout do not notice.
        """
        if self.size > self._limit:
            for known in self._known:
                known.clear()

    def resource(self, encoded: bytes) -> int:
        """Return the number of the resource in these bytes."""
        number = self.resources.get(encoded)
        if number is None:
            message = ResourceMessage.FromString(encoded)
            found = resources.resource(values.pairs(message.attributes))
            number = self.resources[encoded] = self.table.resource(found)
        return number

    def metric(self, head: bytes) -> int:
        """Return the number of the metric whose name stands in these bytes, before its data."""
        number = self.metrics.get(head)
        if number is None:
            name = Metric.FromString(head).name
            number = self.metrics[head] = self.table.metric(name)
        return number

    def learn(self, tail: bytes, point: Any) -> int:
        """Return the number of a point's attributes that `tails` lacks, or SKIP, and remember it.

        `tail` are its bytes without time, value and exemplars, `point` a message with its
        attributes and flags.
        """
        if point.flags & NO_RECORDED_VALUE:
            number = SKIP
        else:
            number = self.table.attributes.number(attributes(values.pairs(point.attributes)))
        self.tails[tail] = number
        return number

    def learn_bytes(self, tail: bytes) -> int | None:
        """Do the same from the bytes alone; None where they are not of the usual form.

        New sets are numbered together at the end of a request, by `resolve`.
        """
        pairs = self._pairs(tail)
        if pairs is None:
            point = NumberDataPoint.FromString(tail)
            # A second time or value in the tail would win over the first; a tail in canonical form
            # that holds neither comes out of the message as it went in.
            if point.exemplars or blank(point) != tail:
                return None
            return self.learn(tail, point)
        number = self.tails[tail] = _FIRST_WAITING - len(self._waiting)
        self._waiting.append(tail)
        self._members += pairs
        self._sizes.append(len(pairs))
        return number

    def resolve(self, numbers: list[int]) -> NDArray[np.int64]:
        """Return the numbers of attribute sets with those in it that `learn_bytes` left open."""
        found = np.array(numbers, np.int64)
        if self._waiting:
            members, sizes = np.array(self._members, np.int32), np.array(self._sizes, np.int64)
            learnt = self.table.attributes.numbers_of(members, sizes)
            self.tails.update(zip(self._waiting, learnt.tolist(), strict=True))
            waits = found <= _FIRST_WAITING
            found[waits] = learnt[_FIRST_WAITING - found[waits]]
            self._close()
        return found

    def drop(self) -> None:
        """Give up what was left open: the request is read on another way."""
        for tail in self._waiting:
            del self.tails[tail]
        self._close()

    def _close(self) -> None:
        self._waiting.clear()
        self._members.clear()
        self._sizes.clear()

    def _pairs(self, tail: bytes) -> list[int] | None:
        """Return the pairs of a tail that holds nothing but attributes, no two of one name."""
        pairs: list[int] = []
        names: set[str] = set()
        at, end = 0, len(tail)
        try:
            while at < end:
                size = tail[at + 1]
                if tail[at] != _ATTRIBUTE:
                    return None
                at += 2
                if size > 127:
                    size, at = read_varint(tail, at - 1, end)
                block = tail[at : at + size]
                at += size
                pair = self._blocks.get(block)
                if pair is None:
                    message = KeyValue.FromString(block)
                    if at > end or message.SerializeToString() != block:
                        return None
                    value = values.scalar(message.value)
                    pair = _LEFT_OUT
                    if value is not None:
                        pair = self.table.attributes.pair(message.key, value)
                    self._blocks[block] = pair
                if pair == _LEFT_OUT:
                    return None
                pairs.append(pair)
                names.add(self.table.attributes.pairs[pair][0])
        except (IndexError, WireError):
            return None
        return pairs if len(names) == len(pairs) else None


def blank(point: NumberDataPoint) -> bytes:
    """Return a point's bytes without what changes from request to request; alters the point."""
    point.ClearField("time_unix_nano")
    point.ClearField("start_time_unix_nano")
    point.ClearField("value")
    if point.exemplars:
        point.ClearField("exemplars")
    written: bytes = point.SerializeToString()
    return written
