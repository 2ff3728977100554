"""OTLP requests to columns and events: the one door of the decoders."""

from . import general, json_decode, logs
from .columns import LogsBatch, MetricsBatch, SeriesTable
from .payload_layout import PayloadLayouts
from .point_blocks import UnusualError
from .streams import StreamNumbers
from .text_bounds import BOUNDS, TextBounds


class MetricsDecoder:
    """Decodes metrics requests into columns of one series table; for one thread.

    It remembers what senders repeat, within bounds, and gives the same result as without.
    """

    def __init__(self, table: SeriesTable) -> None:
        self._table = table
        self._streams = StreamNumbers(table)
        self._layouts = PayloadLayouts(self._streams)

    def protobuf(self, body: bytes) -> MetricsBatch:
        """Return the points of a protobuf request; raises UndecodableError."""
        batch = self._layouts.decode(body)
        if batch is not None:
            return batch
        self._streams.trim()
        try:
            return self._layouts.learn(body)
        except UnusualError:
            return general.read(general.parse(body), self._streams)

    def general(self, body: bytes) -> MetricsBatch:
        """Return the same by the path that takes any request; raises UndecodableError."""
        self._streams.trim()
        return general.read(general.parse(body), self._streams)

    def json(self, body: bytes | str) -> MetricsBatch:
        """Return the points of a JSON request; raises UndecodableError."""
        return json_decode.decode_metrics(body, self._table)


def logs_protobuf(body: bytes, bounds: TextBounds = BOUNDS) -> LogsBatch:
    """Return the events of a protobuf request; raises UndecodableError."""
    return logs.decode(body, bounds)


def logs_json(body: bytes | str, bounds: TextBounds = BOUNDS) -> LogsBatch:
    """Return the events of a JSON request; raises UndecodableError."""
    return json_decode.decode_logs(body, bounds)
