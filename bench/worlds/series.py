"""Series of a case: a metric with attributes of a host's resource, its times and values."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from . import effects
from .effects import Scalar, SeriesEdit

Family = Literal["training", "collective", "device", "host", "process", "network"]


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """Times in seconds since the epoch, as the host's right clock would have them.

    `attempt`: of the job's resource; None: the host's own. `start`: of a counter.
    """

    metric: str
    host: int
    family: Family
    attributes: dict[str, Scalar]
    times: np.ndarray
    values: np.ndarray
    attempt: int | None = None
    start: float | None = None

    def kept(self, mask: np.ndarray) -> "MetricSeries":
        """Return the series with the points of a mask alone."""
        return replace(self, times=self.times[mask], values=self.values[mask])


def changed(series: MetricSeries, host: str, edits: Iterable[SeriesEdit]) -> MetricSeries:
    """Apply the edits that match, in their order."""
    for edit in edits:
        if edit.host is not None and edit.host != host:
            continue
        if any(series.attributes.get(key) != value for key, value in edit.match.items()):
            continue
        if edit.how == "drop":
            outside = (series.times < edit.begin) | (series.times >= edit.end)
            series = series.kept(outside)
        else:
            values = effects.edited(edit, series.times, series.values)
            series = replace(series, values=values)
    return series
