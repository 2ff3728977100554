"""3 sigma: every series against its own past.

A value is unusual when it lies more than three standard deviations from the mean of all values
before it; three unusual values in a row of one series are an alarm. At least 24 values must have
gone before. Reference: the rule of thumb that many monitoring guides begin with.
"""

import numpy as np

from .alarms import MethodAlarm, Received
from .grid import Array, MetricGrid

SIGMAS, PAST, IN_A_ROW = 3.0, 24, 3


def alarms(grid: MetricGrid, events: Received) -> list[MethodAlarm]:  # noqa: ARG001  one signature
    """Return an alarm for every third unusual value in a row."""
    found: list[MethodAlarm] = []
    for matrix in grid.matrices:
        z = deviations(matrix.values)
        for row, cell in zip(*np.nonzero(in_a_row(z, matrix.values)), strict=True):
            text = f"{matrix.metric} {z[row, cell]:.1f} sigma"
            at = float(grid.at[cell])
            found.append(MethodAlarm(at, matrix.entities[row], float(z[row, cell]), text))
    return found


def deviations(values: Array) -> Array:
    """Return |z| of each value [entities x moments] against those before it, NaN where unknown."""
    known = np.isfinite(values)
    # Around its own first values: sums of squares of large, nearly equal numbers lose their digits.
    first = np.argmax(known, axis=1)[:, None]
    shift = np.nan_to_num(np.take_along_axis(values, first, axis=1), posinf=0, neginf=0)
    centred = np.where(known, values - shift, 0.0)
    count = np.cumsum(known, axis=1) - known
    total = np.cumsum(centred, axis=1) - centred
    squares = np.cumsum(centred**2, axis=1) - centred**2
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / count
        spread = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        z = np.abs(centred - mean) / spread
    return np.where(known & (count >= PAST) & (spread > 0), z, np.nan)


def in_a_row(z: Array, values: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return where a value is the last of three unusual ones in a row; gaps are passed over."""
    unusual = np.zeros(z.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        hit = z > SIGMAS
    for row in np.flatnonzero(hit.any(axis=1)).tolist():
        cells = np.flatnonzero(np.isfinite(values[row]))
        line = hit[row, cells].astype(int)
        if len(line) >= IN_A_ROW:
            runs = np.convolve(line, np.ones(IN_A_ROW, dtype=int))[: len(line)]
            unusual[row, cells[runs == IN_A_ROW]] = True
    return unusual
