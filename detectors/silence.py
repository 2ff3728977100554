"""For how long a host may be silent before its reports are missed, and who waits for it."""

import numpy as np

from .window import Flags, Floats, JobWindow

PERIODS, RARER = 3.0, 2.0
"""Intervals of a host's quicker source that must pass, and of its rarer one. Exporters that are
read each half-minute have missed nothing when the probes of the same host are 20 s late."""

UNKNOWN_SECONDS = 60.0
"""Silence that counts where nobody knows how often a host reports, however rare a source is."""

STANDING_SECONDS, STANDING_STEPS = 5.0, 2.0
"""A collective in which members stand for longer, and for so many usual steps, waits for one that
has not come."""


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


def awaited(window: JobWindow) -> Flags:
    """Return [hosts], for whose ranks alone the other members of their groups wait.

    As read after the host was last received, all others of its groups that have launched anything
    stand in one collective, which does not complete: a sign from other hosts, over other
    connections, that needs no source of this one.
    """
    _, usual = window.features.pace
    seconds = max(STANDING_SECONDS, STANDING_STEPS * float(np.nan_to_num(usual)))
    found = np.zeros(len(window.hosts), np.bool_)
    moving = found.copy()
    for group in window.groups:
        of_host = window.host_of[group.rows]
        for host in np.unique(of_host[of_host >= 0]).tolist() if group.kind != "pp" else ():
            others = of_host != host
            read = others & (group.at > window.host_last_received[host])
            inside = read & (group.enqueued > group.completed)
            if 2 * read.sum() < others.sum() or not inside.any():
                continue  # nobody says anything, or nobody uses this group now
            stands = group.at - group.changed_at > seconds
            waits = (inside & stands)[read].all() and np.ptp(group.completed[read]) == 0
            found[host] |= waits
            moving[host] |= not waits
    return found & ~moving
