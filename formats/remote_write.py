"""Prometheus remote write 1.0 to columns, in the names of the contract.

Labels become the resource (host, job, attempt, cluster) and the attributes that the catalogue
knows under their dotted names; a metric in Prometheus form gets its contract name back. There is
no package with its messages, so the wire is walked by hand:

    WriteRequest { timeseries = 1 }
    TimeSeries   { labels = 1 {name = 1, value = 2}, samples = 2, exemplars = 3, histograms = 4 }
    Sample       { value = 1 double, timestamp = 2 int64, milliseconds }

Reference: https://prometheus.io/docs/specs/prw/remote_write_spec/
"""

from array import array
from collections.abc import Mapping
from functools import cache

import cramjam
import numpy as np

from ..vocabulary import metrics
from ..vocabulary.samples import Scalar, attributes
from . import wire
from .otlp import resources
from .otlp.columns import FULL, SKIP, Columns, MetricsBatch, Rejections, SeriesTable
from .otlp.errors import OversizedError, UndecodableError
from .otlp.general import NO_ROOM, NO_TIME

LIMIT = 64 << 20
"""Bytes a body may have once it is decompressed, unless configured otherwise."""

_LABELS, _SAMPLES, _HISTOGRAMS = 1, 2, 4
_USUAL = (_SAMPLES << 3 | wire.LENGTH, 1 << 3 | wire.FIXED64, 2 << 3 | wire.VARINT)
_STALE = 0x7FF0_0000_0000_0002  # Prometheus's NaN for "this series has ended"
_NAMELESS = -3

# Of two labels for one attribute the first here wins.
_RESOURCE = {
    "host_name": resources.HOST,
    "host": resources.HOST,
    "job_id": resources.JOB,
    "attempt": resources.ATTEMPT,
    "cluster": resources.CLUSTER,
    "job": resources.SERVICE,  # OpenTelemetry's own mapping of the scraper's two labels
    "instance": resources.INSTANCE,
    "k8s_namespace_name": "k8s.namespace.name",
    "k8s_pod_name": "k8s.pod.name",
    "k8s_node_name": resources.NODE,
    "network_switch": "network.switch",
}
_WHOLE = frozenset(
    ("rank", "local_rank", "world_size", "pid", "gpu", "dp", "tp", "pp", "ep", "seq", "size")
)
"""Attributes that the agent sends as integers; in Prometheus every label is text."""


def decode(body: bytes, table: SeriesTable, *, limit: int = LIMIT) -> MetricsBatch:
    """Return the samples of a body as it comes over HTTP, in snappy's block format.

    Raises OversizedError before decompressing more than `limit` bytes, else UndecodableError.
    """
    try:
        size = cramjam.snappy.decompress_raw_len(body)
        if size > limit:
            raise OversizedError(f"{size} bytes decompressed, more than the {limit} allowed")
        plain = bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise UndecodableError(f"not in snappy's block format: {error}") from None
    return RemoteWriteDecoder(table).plain(plain)


class RemoteWriteDecoder:
    """Decodes WriteRequests into columns of one series table; for one thread.

    It remembers the series of up to `limit` sets of labels.
    """

    def __init__(self, table: SeriesTable, *, limit: int = 1_000_000) -> None:
        self._table = table
        self._limit = limit
        self._known: dict[bytes, int] = {}
        self._releases = table.releases

    def plain(self, data: bytes) -> MetricsBatch:
        """Return the samples of a decompressed WriteRequest; raises UndecodableError."""
        if len(self._known) > self._limit or self._releases != self._table.releases:
            self._known.clear()
            self._releases = self._table.releases
        walk = _Samples()
        try:
            for field, wire_type, start, end in wire.fields(data, 0, len(data)):
                if field == 1 and wire_type == wire.LENGTH:
                    self._series(data, start, end, walk)
        except (wire.WireError, IndexError) as error:
            raise UndecodableError(f"not a WriteRequest: {error}") from None
        return walk.batch()

    def _series(self, data: bytes, start: int, end: int, walk: "_Samples") -> None:
        at = _after_labels(data, start, end)
        labels = data[start:at]
        samples = []
        histograms = 0
        # Samples of the usual form, [tag, size, tag, value, tag, time], without the general walk.
        while at + 12 < end and (data[at], data[at + 2], data[at + 11]) == _USUAL:
            last = at + 2 + data[at + 1]
            at_ms, after = wire.read_varint(data, at + 12, min(last, end))
            if after != last:
                break
            samples.append((data[at + 3 : at + 11], _signed(at_ms)))
            at = last
        for field, wire_type, first, last in wire.fields(data, at, end):
            if wire_type != wire.LENGTH:
                continue
            if field == _LABELS:  # after a sample: allowed by protobuf, written by nobody
                labels += wire.block(1, data[first:last])
            elif field == _SAMPLES:
                samples.append(_sample(data, first, last))
            elif field == _HISTOGRAMS:
                histograms += 1
        series = self._known.get(labels)
        if series is None:
            series = self._learn(labels)
        walk.rejections.add("of native histograms", histograms)
        for value, at_ms in samples:
            walk.add(series, value, at_ms)

    def _learn(self, encoded: bytes) -> int:
        labels = dict(_label(encoded, *span) for span in _spans(encoded))
        name = labels.pop("__name__", "")
        if not name:
            series = _NAMELESS
        else:
            metric = _contract_names().get(name, name)
            # Prometheus: an empty label is an absent one.
            labels = {label: text for label, text in labels.items() if text}
            found: dict[str, Scalar] = {}
            known = metrics.catalogue().get(metric)
            own = (*known.attributes, *known.optional) if known else ()
            for label, attribute in _RESOURCE.items():
                if label in labels and attribute not in own:
                    found.setdefault(attribute, labels.pop(label))
            points: dict[str, Scalar] = {}
            for label, text in labels.items():
                attribute = _attribute_names().get(label, label)
                points[attribute] = _value(attribute, text)
            if resources.INSTANCE in found and not {resources.HOST, resources.NODE} & found.keys():
                found[resources.HOST] = _host(str(found[resources.INSTANCE]))
            resource = resources.resource(found)
            series = self._table.intern(resource, metric, attributes(points))
        if series != FULL:
            self._known[encoded] = series
        return series


class _Samples:
    """Samples on their way into columns."""

    __slots__ = ("at_ms", "rejections", "series", "value")

    def __init__(self) -> None:
        self.series = array("i")
        self.at_ms = array("q")
        self.value = array("d")
        self.rejections = Rejections()

    def add(self, series: int, value: bytes, at_ms: int) -> None:
        if int.from_bytes(value, "little") == _STALE:
            return
        if series == SKIP:
            return
        if series == _NAMELESS:
            self.rejections.add("without a metric name")
        elif at_ms <= 0:
            self.rejections.add(NO_TIME)
        elif series == FULL:
            self.rejections.add(NO_ROOM)
        else:
            self.series.append(series)
            self.at_ms.append(at_ms)
            self.value.frombytes(value)

    def batch(self) -> MetricsBatch:
        columns = Columns(
            np.frombuffer(self.series, np.int32),
            np.frombuffer(self.at_ms, np.int64) / 1000.0,
            np.frombuffer(self.value, np.float64),
        )
        return MetricsBatch(columns, self.rejections.total, self.rejections.text("samples"))


def _after_labels(data: bytes, at: int, end: int) -> int:
    """Return where the labels end that stand first in a series, as every sender writes them."""
    while at < end and data[at] == _LABELS << 3 | wire.LENGTH:
        size = data[at + 1]
        at += 2
        if size > 127:
            size, at = wire.read_varint(data, at - 1, end)
        at += size
    if at > end:
        raise wire.WireError(f"a label runs past the end at {end}")
    return at


def _sample(data: bytes, start: int, end: int) -> tuple[bytes, int]:
    """Return the 8 bytes of the value and the time in milliseconds."""
    value, at_ms = bytes(8), 0
    for field, wire_type, first, last in wire.fields(data, start, end):
        if field == 1 and wire_type == wire.FIXED64:
            value = data[first:last]
        elif field == 2 and wire_type == wire.VARINT:
            at_ms, _ = wire.read_varint(data, first, last)
    return value, _signed(at_ms)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _spans(encoded: bytes) -> list[tuple[int, int]]:
    return [(first, last) for _, _, first, last in wire.fields(encoded, 0, len(encoded))]


def _label(data: bytes, start: int, end: int) -> tuple[str, str]:
    texts = {1: "", 2: ""}
    for field, wire_type, first, last in wire.fields(data, start, end):
        if field in texts and wire_type == wire.LENGTH:
            try:
                texts[field] = data[first:last].decode()
            except UnicodeDecodeError:
                raise wire.WireError("a label that is not UTF-8") from None
    return texts[1], texts[2]


def _value(attribute: str, text: str) -> Scalar:
    whole = attribute in _WHOLE and text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if whole else text


def _host(instance: str) -> str:
    """Return the host in a scraper's `host:port`; IPv6 stands in brackets."""
    host, colon, port = instance.rpartition(":")
    return host.strip("[]") if colon and port.isdigit() else instance


@cache
def _contract_names() -> Mapping[str, str]:
    return {metric.prometheus_name: metric.name for metric in metrics.catalogue().values()}


@cache
def _attribute_names() -> Mapping[str, str]:
    return {
        attribute.replace(".", "_"): attribute
        for metric in metrics.catalogue().values()
        for attribute in (*metric.attributes, *metric.optional)
    }
