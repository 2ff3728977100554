"""Series of a case: a metric with attributes of a host's resource, its times and values."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .effects import Scalar, SeriesEdit

Family = Literal["training", "collective", "device", "host", "process", "network"]


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """Times in seconds since the epoch, as the host's right clock would have them.

    `attempt`: of the job's resource; None: the host's own. `start`: of a counter. `added`: only
    this case has it.
    """

    metric: str
    host: int
    family: Family
    attributes: dict[str, Scalar]
    times: np.ndarray
    values: np.ndarray
    attempt: int | None = None
    start: float | None = None
    added: bool = False

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
            series = series.kept((series.times < edit.begin) | (series.times >= edit.end))
        else:
            series = replace(series, values=_edited(edit, series.times, series.values))
    return series


def _edited(edit: SeriesEdit, times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values of a series that matches an edit other than `drop`."""
    inside = (times >= edit.begin) & (times < edit.end)
    if edit.how == "rate":
        lasted = np.clip(times, edit.begin, edit.end) - edit.begin
        return np.asarray(values + edit.value * lasted)
    since = times - edit.begin
    match edit.how:
        case "set":
            changed = np.full_like(values, edit.value)
        case "scale":
            changed = values * edit.value
        case "add":
            changed = values + edit.value
        case "least":
            changed = np.maximum(values, edit.value)
        case "most":
            changed = np.minimum(values, edit.value)
        case "grow":
            changed = values * np.exp(edit.value * np.clip(since, 0.0, edit.lasts))
        case _:
            changed = values * (1.0 + edit.value * np.exp(-np.abs(since) / edit.lasts))
    return np.asarray(np.where(inside, changed, values))
