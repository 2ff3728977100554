"""Metrics of a job over a stretch of the journal, summed up for pictures: nothing is evaluated.

Imports neither detectors nor causes: the process that draws one picture starts sooner without.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...detectors.window import JobWindow
from ..figures.distribution import MetricDistribution, SpreadQuery, results
from ..figures.spread import FEWEST_BUCKETS, SpreadSummer
from ..windows import TelemetryWindows
from ..windows.matrices import matrices, newest_window
from . import points
from .stretch import JournalStretch

PLACING_SECONDS = 30.0
"""So much before a stretch tells where ranks run: they report it every few seconds."""

TAKEN_SECONDS = 300.0
"""A third of what windows hold of readings at the least."""

SHORTEST_BUCKET_SECONDS = 2.0


def distributions(
    stretch: JournalStretch, wanted: Sequence[SpreadQuery], *, capacity: int
) -> list[dict[str, Any]]:
    """Return metrics of the job summed up over its ranks, each as `Distribution.document` has it.

    All are read in one pass, and nothing else is. Nothing is evaluated: windows are filled, and
    emptied into buckets before they forget. capacity: most series.
    """
    table = points.table_of({one.metric.partition("|")[0] for one in wanted}, capacity=capacity)
    windows = TelemetryWindows(table)
    sums = [_MetricSum(one, stretch) for one in wanted]
    taken = stretch.start
    span = stretch.start - PLACING_SECONDS, stretch.end
    for batch, at in points.batches(stretch.journal, stretch.job, *span, table):
        windows.metrics(batch, at)
        if at > taken + 2 * TAKEN_SECONDS:
            # The newest part may still get what comes late: it is taken next time.
            window = newest_window(windows, stretch.job)
            for one in sums:
                one.take(window, taken, taken + TAKEN_SECONDS)
            taken += TAKEN_SECONDS
    window = newest_window(windows, stretch.job)
    for one in sums:
        one.take(window, taken, stretch.end + 1e-6)
    return [one.document() for one in sums]


class _MetricSum:
    """Sums up one metric over a stretch, part by part."""

    def __init__(self, wanted: SpreadQuery, stretch: JournalStretch) -> None:
        self._wanted = wanted
        self._start, self._end = stretch.start, stretch.end
        fine = int((self._end - self._start) / SHORTEST_BUCKET_SECONDS)
        self._buckets = max(FEWEST_BUCKETS, min(wanted.points, fine))
        self._spreadings: dict[str, SpreadSummer] = {}

    def take(self, window: JobWindow | None, since: float, until: float) -> None:
        """Add what a window holds of [since, until)."""
        held = self._spreadings
        for one in () if window is None else matrices(window, self._wanted.metric):
            if one.of_hosts and any("/" not in name for name in held):
                continue
            key = f"/{one.name}" if one.of_hosts else one.name
            if key not in held:
                counter = self._wanted.counter
                held[key] = SpreadSummer(self._start, self._end, self._buckets, counter)
            inside = (one.at >= since) & (one.at < until)
            if inside.any():
                held[key].add(replace(one, value=np.where(inside, one.value, np.nan)))

    def document(self) -> dict[str, Any]:
        """Return the sums as JSON has them."""
        named = {name.removeprefix("/"): one for name, one in self._spreadings.items()}
        seconds = (self._end - self._start) / self._buckets
        spreads = results(named, self._wanted)
        return MetricDistribution(self._start, seconds, self._start, spreads).document()
