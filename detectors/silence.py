"""For how long a host may be silent before its reports are missed."""

import numpy as np

from .window import Floats, JobWindow

PERIODS, RARER = 3.0, 2.0
"""Intervals of a host's quicker source that must pass, and of its rarer one. Exporters that are
read each half-minute have missed nothing when the probes of the same host are 20 s late."""

UNKNOWN_SECONDS = 60.0
"""Silence that counts where nobody knows how often a host reports, however rare a source is."""


def limits(
    window: JobWindow, *, least: float, periods: float = PERIODS, unknown: float = UNKNOWN_SECONDS
) -> Floats:
    """Return [hosts], seconds of silence beyond which each of a host's sources was missed.

    least: at least so many. periods: intervals of the quicker source. unknown: so many where no
    interval is known, and at most for the sake of the rarer source.
    """
    limit = of_quicker(window, least=least, periods=periods, unknown=unknown)
    if len(window.host_rarer) != len(limit):
        return limit
    return np.fmax(limit, np.minimum(RARER * window.host_rarer, unknown))


def of_quicker(window: JobWindow, *, least: float, periods: float, unknown: float) -> Floats:
    """Return [hosts], seconds of silence beyond which the quicker source was missed."""
    limit = np.fmax(least, periods * window.host_interval)
    return np.where(window.host_interval > 0, limit, unknown)
