"""Loudest metric: the entity that is farthest from its peers in any metric.

At each moment the robust z of an entity in a metric is its distance from the median of all entities
over 1.4826 x their median absolute deviation (with a floor of 1 % of the median). The entity with
the largest median z of the last minute is the answer; it is an alarm at 8 or more. At least four
entities must report a metric. It is what a dashboard sorted by deviation shows.
"""

import numpy as np

from .alarms import MethodAlarm, Received
from .grid import Array, MetricGrid, filled

LOUD, PEERS, CELLS, GAP = 8.0, 4, 12, 12
_FLOOR = 0.01
_START = 24
"""Cells of the beginning that are left out: two minutes of start-up and compilation."""


def alarms(grid: MetricGrid, events: Received) -> list[MethodAlarm]:  # noqa: ARG001  one signature
    """Return an alarm for every moment at which somebody is that far from the peers."""
    if len(grid.at) <= _START + CELLS:
        return []
    best = np.zeros(len(grid.at))
    named: list[MethodAlarm | None] = [None] * len(grid.at)
    for matrix in grid.matrices:
        if len(matrix.entities) < PEERS:
            continue
        z = _lasting(distances(filled(matrix.values, most=GAP)))
        who = np.argmax(z, axis=0)
        size = z[who, np.arange(z.shape[1])]
        for cell in np.flatnonzero((size >= LOUD) & (size > best)).tolist():
            if cell >= _START:
                best[cell] = size[cell]
                text = f"{matrix.metric} {size[cell]:.1f} robust deviations from its peers"
                entity = matrix.entities[int(who[cell])]
                named[cell] = MethodAlarm(float(grid.at[cell]), entity, float(size[cell]), text)
    return [alarm for alarm in named if alarm is not None]


def distances(values: Array) -> Array:
    """Return the robust |z| of each entity at each moment, 0 where too few report."""
    known = np.isfinite(values)
    enough = known.sum(axis=0) >= PEERS
    result = np.zeros(values.shape)
    if not enough.any():
        return result
    some = np.where(known, values, np.nan)[:, enough]
    median = np.nanmedian(some, axis=0)
    off = np.abs(some - median)
    spread = np.maximum(1.4826 * np.nanmedian(off, axis=0), _FLOOR * np.abs(median))
    with np.errstate(invalid="ignore", divide="ignore"):
        z = off / spread
    result[:, enough] = np.where(np.isfinite(z), z, 0.0)
    return result


def _lasting(z: Array) -> Array:
    """Return the median over the last minute; the first minute is 0."""
    result = np.zeros(z.shape)
    if z.shape[1] >= CELLS:
        windows = np.lib.stride_tricks.sliding_window_view(z, CELLS, axis=1)
        result[:, CELLS - 1 :] = np.median(windows, axis=2)
    return result
