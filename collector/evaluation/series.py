"""Series of the intake's tables in the numbers of the pipeline's.

The pipeline's table gets a series when its first point is applied, so numbers follow the order of
the journal whoever decoded it, and a replay assigns the same.
"""

import weakref
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...formats.otlp.columns import MetricsBatch, PointColumns, SeriesTable
from ...formats.otlp.numbering import distinct
from ...formats.otlp.series import IdTranslation

_UNKNOWN = -3
_SMALL_POINTS, _MOST_SHARED = 512, 20_000
"""Translated arrays of up to so many points are remembered, so many of them."""
_MOST_SOURCES = 16
"""Tables remembered, those used last: one for each set of jobs that tokens are limited to."""


@dataclass(slots=True)
class _SourceSeries:
    """What the series of one source are called; `releases` of the target that this allows for."""

    translation: IdTranslation
    ids: NDArray[np.int32]
    releases: int
    whole: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]] = field(default_factory=dict)
    """Arrays that many batches share, by their identity, each with all of it translated."""


class SeriesTranslations:
    """The series of every source table in one target; for one thread."""

    def __init__(self, target: SeriesTable) -> None:
        self._target = target
        self._known: OrderedDict[weakref.ref[SeriesTable], _SourceSeries] = OrderedDict()
        self.refused = 0
        """Points left out because the target is full."""

    def translated(self, batch: MetricsBatch, source: SeriesTable) -> MetricsBatch:
        """Return a batch with the target's series, without points for which it is full."""
        if source is self._target or not len(batch.columns):
            return batch
        columns = batch.columns
        known = self._of(source)
        shared = known.whole.get(id(columns.series))
        if shared is not None and shared[0] is columns.series:
            columns = PointColumns(shared[1], columns.at, columns.value)
            return MetricsBatch(columns, scraped=batch.scraped)
        series = known.ids[columns.series]
        unknown = series == _UNKNOWN
        if unknown.any():
            fresh = columns.series[unknown]
            fresh = fresh[distinct(fresh)[0]]
            ids = known.translation.ids(fresh)
            known.ids[fresh[ids >= 0]] = ids[ids >= 0]
            series = known.ids[columns.series]
            kept = series >= 0
            if not kept.all():
                self.refused += int((~kept).sum())
                series = series[kept]
                columns = PointColumns(columns.series[kept], columns.at[kept], columns.value[kept])
        elif len(series) <= _SMALL_POINTS and not columns.series.flags.writeable:
            # Of a layout that its sender repeats.
            if len(known.whole) >= _MOST_SHARED:
                known.whole.clear()
            known.whole[id(columns.series)] = columns.series, series
        return MetricsBatch(PointColumns(series, columns.at, columns.value), scraped=batch.scraped)

    def _of(self, source: SeriesTable) -> _SourceSeries:
        place = weakref.ref(source)
        known = self._known.get(place)
        if known is None:
            self._known = OrderedDict(
                (held, series) for held, series in self._known.items() if held() is not None
            )
            ids = np.full(1024, _UNKNOWN, np.int32)
            translation = IdTranslation(source, self._target)
            known = self._known[place] = _SourceSeries(translation, ids, self._target.releases)
            if len(self._known) > _MOST_SOURCES:
                self._known.popitem(last=False)
        self._known.move_to_end(place)
        if len(known.ids) < len(source):
            grown = np.full(2 * len(source), _UNKNOWN, np.int32)
            grown[: len(known.ids)] = known.ids
            known.ids = grown
        if known.releases != self._target.releases:
            # Numbers that were released name other series, or will.
            held = np.flatnonzero(known.ids >= 0)
            gone = self._target.released_at[known.ids[held]] > known.releases
            known.ids[held[gone]] = _UNKNOWN
            known.whole.clear()
            known.releases = self._target.releases
        return known
