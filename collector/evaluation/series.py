"""Series of the intake's tables in the numbers of the pipeline's.

The pipeline's table gets a series when its first point is applied, so numbers follow the order of
the journal whoever decoded it, and a replay assigns the same.
"""

import weakref

import numpy as np
from numpy.typing import NDArray

from ...formats.otlp.columns import FULL, Columns, MetricsBatch, SeriesTable

_UNKNOWN = -3


class Translation:
    """What every source table's series are called in one target; for one thread."""

    def __init__(self, table: SeriesTable) -> None:
        self._table = table
        self._known: weakref.WeakKeyDictionary[SeriesTable, NDArray[np.int32]] = (
            weakref.WeakKeyDictionary()
        )
        self.refused = 0
        """Points left out because the target is full."""

    def translated(self, batch: MetricsBatch, source: SeriesTable) -> MetricsBatch:
        """Return a batch with the target's series, without points for which it is full."""
        if source is self._table or not len(batch.columns):
            return batch
        columns = batch.columns
        known = self._grown(source)
        series = known[columns.series]
        unknown = series == _UNKNOWN
        if unknown.any():
            self._intern(columns.series[unknown], known, source)
            series = known[columns.series]
            kept = series != _UNKNOWN
            if not kept.all():
                self.refused += int((~kept).sum())
                columns = Columns(columns.series[kept], columns.at[kept], columns.value[kept])
                series = series[kept]
        return MetricsBatch(Columns(series, columns.at, columns.value))

    def released(self, numbers: NDArray[np.int32]) -> None:
        """Forget numbers of the target that are going to name other series."""
        for known in self._known.values():
            known[np.isin(known, numbers)] = _UNKNOWN

    def _grown(self, source: SeriesTable) -> NDArray[np.int32]:
        known = self._known.get(source)
        if known is None or len(known) < len(source):
            grown = np.full(max(1024, 2 * len(source)), _UNKNOWN, np.int32)
            if known is not None:
                grown[: len(known)] = known
            known = self._known[source] = grown
        return known

    def _intern(
        self, series: NDArray[np.int32], known: NDArray[np.int32], source: SeriesTable
    ) -> None:
        fresh, first = np.unique(series, return_index=True)
        for number in fresh[np.argsort(first)].tolist():
            row = source[number]
            found = self._table.intern(row.resource, row.metric, row.attributes)
            if found != FULL:
                known[number] = found
