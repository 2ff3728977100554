"""Four simple methods on the same telemetry, for comparison: they get it on a grid of 5 s.

A method is one file with a function `alarms(grid, events)`; a line in METHODS names it. Alarms that
follow each other within five minutes are one incident, as a notifier's grouping would make it; it
names the entity of its largest score in the first half minute, and no cause.

In: telemetry on a grid of 5 s. Out: alarms. Imports: detectors, formats, vocabulary; seen.
"""

from collections.abc import Callable, Mapping, Sequence

from ....formats.otlp.columns import PointColumns, SeriesTable
from ..seen import SeenIncident
from . import isolation_forest, loudest, three_sigma, thresholds
from .alarms import MethodAlarm, Received, grouped
from .grid import MetricGrid, gridded

METHODS: Mapping[str, Callable[[MetricGrid, Received], list[MethodAlarm]]] = {
    "3 sigma": three_sigma.alarms,
    "fixed thresholds": thresholds.alarms,
    "loudest metric": loudest.alarms,
    "isolation forest": isolation_forest.alarms,
}


def found(
    table: SeriesTable,
    delivered: Sequence[tuple[float, PointColumns]],
    events: Received,
    job: str,
) -> dict[str, tuple[SeenIncident, ...]]:
    """Return the incidents of each method over (received at, points) and events of one job."""
    grid = gridded(table, delivered)
    return {name: grouped(method(grid, events), job) for name, method in METHODS.items()}
