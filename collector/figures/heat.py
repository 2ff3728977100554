"""A per-step metric as a picture: ranks down, steps across, one byte a cell."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, JobWindow

LEVELS = 254
NOTHING = 255
"""The byte of a cell in which nobody reported."""

LEAST_RANGE = 1.6
"""The scale ends no lower than so many times the median: noise of a healthy job stays pale."""


@dataclass(frozen=True, slots=True)
class HeatmapCells:
    """cells: [rows, columns] bytes; value = low + byte / 254 * (high - low), 255: nobody reported.

    A cell is the highest value of the ranks and steps that it stands for, so that one slow rank
    among many stays visible. ranks: [rows] the first rank of each; steps: [columns] the first step,
    first_at, last_at: when the first and the last step ended.
    """

    cells: NDArray[np.uint8]
    low: float
    high: float
    ranks: list[int]
    steps: list[int]
    ranks_a_row: float
    steps_a_column: float
    first_at: float
    last_at: float


def heat(
    window: JobWindow, metric: str, *, start: float, end: float, rows: int, columns: int
) -> HeatmapCells | None:
    """Return the picture of at most rows by columns, None where nobody reports the metric."""
    plane = window.steps.planes.get(metric)
    if plane is None or not plane.size:
        return None
    ended = np.fmax.reduce(window.steps.at, axis=0, initial=-np.inf)
    chosen = np.flatnonzero((ended >= start) & (ended <= end))
    order = np.argsort(window.ranks)
    values = plane[np.ix_(order, chosen)]
    values = np.where(np.isfinite(values), values, np.nan)
    reported = np.flatnonzero(np.isfinite(values).any(axis=0))
    if not len(reported):
        return None
    chosen, values = chosen[reported], values[:, reported]
    down, across = _edges(values.shape[0], rows), _edges(values.shape[1], columns)
    cells = np.fmax.reduceat(np.fmax.reduceat(values, across, axis=1), down, axis=0)
    low, high = _scale(values)
    level = np.clip((cells - low) / (high - low), 0, 1) * LEVELS
    return HeatmapCells(
        cells=np.where(np.isnan(cells), NOTHING, np.nan_to_num(level)).astype(np.uint8),
        low=low,
        high=high,
        ranks=window.ranks[order][down].tolist(),
        steps=window.steps.index[chosen][across].tolist(),
        ranks_a_row=values.shape[0] / len(down),
        steps_a_column=values.shape[1] / len(across),
        first_at=float(ended[chosen[0]]),
        last_at=float(ended[chosen[-1]]),
    )


def _edges(count: int, most: int) -> NDArray[np.int64]:
    """Return where each of at most so many parts of equal size begins."""
    parts = min(count, most)
    return (np.arange(parts) * count) // parts


def _scale(values: Floats) -> tuple[float, float]:
    """Return the ends of the scale: nearly all values lie between, wild ones beyond the top."""
    held = values[np.isfinite(values)]
    low, middle, high = np.quantile(held, [0.02, 0.5, 0.97]).tolist()
    high = max(high, LEAST_RANGE * middle, low + 1e-9)
    return low, high
