"""What devices did over a long time: the newest readings and the thinned past as one."""

from itertools import pairwise

import numpy as np

from ..window import Flags, Floats, PeriodicReadings

FINE_SECONDS = 900.0
"""So much of the newest past is held reading by reading."""

COVERED = 0.9
"""Share of the time that must be covered by readings."""


def over(readings: PeriodicReadings, now: float, seconds: float) -> tuple[Floats, Floats, Flags]:
    """Return [rows] mean and highest level of the newest `seconds`, and whether they are covered.

    The highest of means over five minutes, or over a quarter of an hour further back.
    """
    start = now - seconds
    past = readings.history()
    inside = (past.at >= start) & (past.at < now - FINE_SECONDS) & np.isfinite(past.value)
    # Fine readings reach further back where no thinned past is held.
    fine = max(seconds if not past.at.shape[1] else 0.0, min(FINE_SECONDS, seconds))
    edges = np.linspace(now - fine, now, max(int(fine // 300.0), 1) + 1)
    pieces = [readings.mean(first, last) for first, last in pairwise(edges)]
    levels = np.stack([*pieces, *np.where(inside, past.value, np.nan).T], axis=1)
    known = np.isfinite(levels)
    highest = np.max(np.where(known, levels, -np.inf), axis=1)
    total = np.where(known, levels, 0.0).sum(axis=1)
    mean = np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)
    expected = len(pieces) + max(seconds - fine, 0.0) / FINE_SECONDS
    return (
        mean,
        np.where(known.any(axis=1), highest, np.nan),
        known.sum(axis=1) >= COVERED * expected,
    )


def cost(gpu_hours: float, price: float | None) -> str:
    """Return GPU-hours in words, with money where a price per GPU-hour is given."""
    text = f"{gpu_hours:.3g} GPU-hours"
    return text if price is None else f"{text}, {gpu_hours * price:.4g} at {price:g} an hour"
