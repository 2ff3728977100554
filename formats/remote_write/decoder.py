"""WriteRequests to columns, in the names of the vocabulary.

What a set of labels is gets decided once, when it is first seen: samples after that are a look into
a dictionary, and array operations over the whole payload.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import cramjam
import numpy as np
from numpy.typing import NDArray

from .. import wire
from ..otlp.columns import FULL, SKIP, MetricsBatch, PointColumns, PointRejections, SeriesTable
from ..otlp.errors import OversizedError, UndecodableError
from ..otlp.general import NO_ROOM, NO_TIME
from . import labels as naming
from . import version1, version2
from .exported import ExporterMeanings, HostlessError, JointSeries, SeriesMeaning, SumParts

LabelledSample = tuple[Mapping[str, str], int, float]
"""Labels, the name among them; time (ms); value."""

LIMIT = 64 << 20
"""Bytes a body may have once it is decompressed, unless configured otherwise."""

STALE = np.uint64(0x7FF0_0000_0000_0002)
"""Prometheus's NaN for "this series has ended"."""

NAMELESS, HOSTLESS = "without a metric name", "of a host or device that no label names"
HISTOGRAMS = "of native histograms"
_FLAG = float("inf")
"""The factor of what is 1 for any value above 0."""

_SKIPPED, _NAMELESS, _HOSTLESS, _FULL, _KNOWN = range(5)


def decode(body: bytes, table: SeriesTable, *, limit: int = LIMIT) -> MetricsBatch:
    """Return the samples of a 1.0 body as it comes over HTTP, in snappy's block format.

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


@dataclass(slots=True)
class _LabelSets:
    """Sets of labels by number, as arrays: what each is, and its targets in flat arrays."""

    kind: NDArray[np.int8] = field(default_factory=lambda: np.zeros(1024, np.int8))
    first: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1024, np.int32))
    targets: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1024, np.int32))
    blanks: NDArray[np.int16] = field(default_factory=lambda: np.zeros(1024, np.int16))
    series: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1024, np.int32))
    factor: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1024))
    offset: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1024))
    special: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1024, np.bool_))
    resource: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1024, np.int32))
    """Whom each is of: a number of the table's resources; -1 of those that name nobody."""
    count: int = 0
    used: int = 0

    def add(
        self,
        kind: int,
        targets: Sequence[tuple[int, float, float]] = (),
        *,
        resource: int = -1,
        blanks: int = 0,
    ) -> int:
        """Add a set of labels; return its number."""
        if self.count == len(self.kind):
            for name in ("kind", "first", "targets", "blanks", "special", "resource"):
                setattr(self, name, _doubled(getattr(self, name)))
        while self.used + len(targets) > len(self.series):
            for name in ("series", "factor", "offset"):
                setattr(self, name, _doubled(getattr(self, name)))
        number = self.count
        self.count += 1
        self.kind[number], self.blanks[number] = kind, blanks
        self.resource[number] = resource
        self.first[number], self.targets[number] = self.used, len(targets)
        for series, factor, offset in targets:
            at = self.used
            self.series[at], self.factor[at], self.offset[at] = series, factor, offset
            self.used += 1
        return number


class RemoteWriteDecoder:
    """Decodes WriteRequests into columns of one series table; for one thread.

    It remembers up to `limit` sets of labels, by their hash: none of its answers depends on what
    was decoded before, but for the numbers of series.
    """

    def __init__(self, table: SeriesTable, *, limit: int = 1_000_000) -> None:
        self._table = table
        self._limit = limit
        self._releases = table.releases
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[int, int] = {}
        self._sets = _LabelSets()
        self._exported = ExporterMeanings()
        self._special: dict[int, tuple[JointSeries, dict[tuple[int, int], int]]] = {}
        self._blanks: list[tuple[frozenset[float], float]] = [(frozenset(), float("inf"))]

    def plain(self, data: bytes) -> MetricsBatch:
        """Return the samples of a decompressed WriteRequest of 1.0; raises UndecodableError."""
        self._begin()
        try:
            return self._batch(version1.walk(data, self._numbers, self._learn))
        except (wire.WireError, IndexError) as error:
            raise UndecodableError(f"not a WriteRequest: {error}") from None

    def plain2(self, data: bytes) -> MetricsBatch:
        """Return the samples of a decompressed Request of 2.0; raises UndecodableError."""
        self._begin()
        try:
            return self._batch(version2.walk(data, self._numbers, self._learn))
        except (wire.WireError, IndexError) as error:
            raise UndecodableError(f"not a Request of remote write 2.0: {error}") from None

    def labelled(self, samples: Iterable[LabelledSample]) -> MetricsBatch:
        """Return samples that came in another envelope."""
        self._begin()
        numbers, at_ms, value = array("i"), array("q"), array("d")
        for labels, at, one in samples:
            key = hash(frozenset(labels.items()))
            number = self._numbers.get(key)
            numbers.append(self._learn(key, labels) if number is None else number)
            at_ms.append(at)
            value.append(one)
        return self._batch(
            version1.WalkedSamples(
                np.frombuffer(numbers, np.int32),
                np.frombuffer(at_ms, np.int64),
                np.frombuffer(value, np.float64),
            )
        )

    def _begin(self) -> None:
        if len(self._numbers) > self._limit or self._releases != self._table.releases:
            self._forget()
            self._releases = self._table.releases

    def _learn(self, key: int, labels: Mapping[str, str]) -> int:
        """Return the number of a set of labels that was not seen before."""
        # Prometheus: an empty label is an absent one.
        labels = {label: text for label, text in labels.items() if text}
        name = labels.pop("__name__", "")
        number, full = self._made(name, labels)
        if not full:
            self._numbers[key] = number
        return number

    def _made(self, name: str, labels: Mapping[str, str]) -> tuple[int, bool]:
        """Return a number for a set of labels, and whether the table had no room for it."""
        sets, table = self._sets, self._table
        if not name:
            return self._nothing(_NAMELESS, labels), False
        own = naming.own_series(name, labels)
        if own is not None:
            series, resource = table.intern(*own), table.resource(own[0])
            if series == FULL:
                return sets.add(_FULL, resource=resource), True
            kind = _SKIPPED if series == SKIP else _KNOWN
            return sets.add(kind, [(series, 1.0, 0.0)], resource=resource), False
        try:
            meaning = self._exported.meaning(name, labels)
        except HostlessError:
            return self._nothing(_HOSTLESS, labels), False
        if meaning is None:
            return self._nothing(_SKIPPED, labels), False
        resource = table.resource(meaning.resource)
        targets = [
            (
                table.intern(meaning.resource, one.metric, one.attributes),
                _FLAG if one.flag else one.factor,
                one.offset,
            )
            for one in meaning.plain
        ]
        if any(series == FULL for series, _, _ in targets):
            return sets.add(_FULL, resource=resource), True
        known = [one for one in targets if one[0] != SKIP]
        number = sets.add(_KNOWN, known, resource=resource, blanks=self._blank(meaning))
        if meaning.special is not None:
            self._special[number] = (meaning.special, {})
            sets.special[number] = True
        return number, False

    def _nothing(self, kind: int, labels: Mapping[str, str]) -> int:
        """Return a number for a set of labels of which nothing is made."""
        claim = naming.claim(labels)
        resource = -1 if claim is None else self._table.resource(claim)
        return self._sets.add(kind, resource=resource)

    def _blank(self, meaning: SeriesMeaning) -> int:
        found = (meaning.blanks, meaning.blank_from)
        if found not in self._blanks:
            self._blanks.append(found)
        return self._blanks.index(found)

    def _batch(self, walked: "version1.WalkedSamples") -> MetricsBatch:
        """Return the columns of what was walked, and count what of it is left out."""
        sets, rejections = self._sets, PointRejections()
        rejections.add(HISTOGRAMS, walked.histograms)
        numbers, at_ms, value = walked.numbers, walked.at_ms, walked.value
        resources = self._resources(walked)
        fresh = value.view(np.uint64) != STALE
        kind = sets.kind[numbers]
        if not (fresh & (kind == _KNOWN) & (at_ms > 0)).all():
            rejections.add(NAMELESS, int((fresh & (kind == _NAMELESS)).sum()))
            rejections.add(HOSTLESS, int((fresh & (kind == _HOSTLESS)).sum()))
            timed = at_ms > 0
            known = kind == _KNOWN
            rejections.add(NO_TIME, int((fresh & known & ~timed).sum()))
            rejections.add(NO_ROOM, int((fresh & (kind == _FULL) & timed).sum()))
            kept = fresh & known & timed
            numbers, at_ms, value = numbers[kept], at_ms[kept], value[kept]
        shown = self._shown(numbers, value)
        if shown is not None:
            numbers, at_ms, value = numbers[shown], at_ms[shown], value[shown]
        more = self._specially(numbers, at_ms, value, rejections) if self._special else None
        count = sets.targets[numbers]
        if len(count) and int(count.max()) == int(count.min()) == 1:
            places = sets.first[numbers]
        else:
            numbers = np.repeat(numbers, count)
            at_ms, value = np.repeat(at_ms, count), np.repeat(value, count)
            within = np.arange(len(numbers)) - np.repeat(np.cumsum(count) - count, count)
            places = sets.first[numbers] + within
        factor = sets.factor[places]
        other = np.flatnonzero(factor != 1.0)  # the rest stays as it is, to the last bit
        if len(other):
            value, flag = value.copy(), np.isinf(factor[other])
            with np.errstate(invalid="ignore"):
                linear = value[other] * factor[other] + sets.offset[places[other]]
            value[other] = np.where(flag, value[other] > 0, linear)
        columns = PointColumns(sets.series[places], at_ms / 1000.0, value)
        if more is not None:
            columns = PointColumns(
                np.concatenate((columns.series, more.series)),
                np.concatenate((columns.at, more.at)),
                np.concatenate((columns.value, more.value)),
            )
        return MetricsBatch(
            columns,
            rejections.total,
            rejections.text("samples"),
            scraped=True,
            written=len(walked.numbers) - (rejections.total - walked.histograms),
            resources=resources,
        )

    def _resources(self, walked: "version1.WalkedSamples") -> tuple[int, ...]:
        """Return whom all series are of, those included of which nothing is made."""
        named = np.zeros(len(self._table.resources) + 1, np.bool_)
        named[self._sets.resource[walked.numbers]] = True  # the last stands for nobody
        named[self._sets.resource[np.array(walked.without, np.int32)]] = True
        return tuple(np.flatnonzero(named[:-1]).tolist())

    def _shown(
        self, numbers: NDArray[np.int32], value: NDArray[np.float64]
    ) -> NDArray[np.bool_] | None:
        """Return which values are readings, None where all are: exporters write blanks as numbers.

        Of an exporter neither NaN nor infinity is a reading.
        """
        which = self._sets.blanks[numbers]
        if not which.any():
            return None
        shown = np.ones(len(value), np.bool_)
        for blank in range(1, len(self._blanks)):
            here = which == blank
            if not here.any():
                continue
            blanks, blank_from = self._blanks[blank]
            values = value[here]
            good = np.isfinite(values) & (np.abs(values) < blank_from)
            for one in blanks:
                good &= values != one
            shown[here] = good
        return None if shown.all() else shown

    def _specially(
        self,
        numbers: NDArray[np.int32],
        at_ms: NDArray[np.int64],
        value: NDArray[np.float64],
        rejections: PointRejections,
    ) -> PointColumns | None:
        """Return what is made of series that are no plain multiple of one of the vocabulary."""
        which = np.flatnonzero(self._sets.special[numbers])
        if not len(which):
            return None
        series, times, values = array("i"), array("q"), array("d")
        parts = SumParts()
        for number, at, one in zip(
            numbers[which].tolist(), at_ms[which].tolist(), value[which].tolist(), strict=True
        ):
            special, known = self._special[number]
            for slot, state, result in special.take(one, parts, at):
                found = known.get((id(slot), state))
                if found is None:
                    found = self._table.intern(special.resource, slot.metric, slot.series[state])
                    if found == FULL:
                        rejections.add(NO_ROOM)
                        continue
                    known[id(slot), state] = found
                if found >= 0:
                    series.append(found)
                    times.append(at)
                    values.append(result)
        return PointColumns(
            np.array(series, np.int32),
            np.array(times, np.int64) / 1000.0,
            np.array(values, np.float64),
        )


def _doubled(old: NDArray[np.generic]) -> NDArray[np.generic]:
    return np.concatenate((old, np.zeros_like(old)))
