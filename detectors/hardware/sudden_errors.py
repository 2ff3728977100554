"""Hosts whose ports have begun to count errors: compared with their own past, not with peers.

Peers say nothing where most of them have the same trouble, as behind one bad switch.
"""

import numpy as np

from ..window import JobWindow
from . import counters, past, ports
from .link_flaps import ERRORS
from .port_errors import COUNTED, PAST, beyond_chance, per_minute

SECONDS = 120.0
"""The newest time range that is looked at."""

BEFORE = 0.1
"""Share of a counter's limit above which it has always counted, as this fabric does."""


def began(window: JobWindow) -> dict[tuple[str, str], float]:
    """Return by host and port when ports began to count errors, s since the epoch.

    By the counter that shows it on most ports: its growth is beyond its limit and was far below it
    before. Not of ports of whose past nothing is known.
    """
    by_counter: dict[str, dict[tuple[str, str], float]] = {}
    for plane in ports.planes(window, ERRORS, COUNTED):
        grown = counters.growth(plane.readings, SECONDS)
        if not len(grown.rows):
            continue
        limit = per_minute(plane.middle)
        spans = np.maximum(grown.seconds, 60.0)
        rate = grown.total * 60 / spans
        fast = np.flatnonzero(
            (rate >= beyond_chance(limit, spans)) & (grown.last[:, 1] > grown.first[:, 1])
        )
        rows = grown.rows[fast]
        start = plane.readings.newest_at() - SECONDS
        usual = past.usual(past.blocks(plane.readings.of(rows), start, PAST, counter=True))
        held = by_counter.setdefault(plane.middle, {})
        for place in np.flatnonzero(usual * 60 <= BEFORE * limit).tolist():
            port = plane.entity(window, int(rows[place]))
            if port is not None and port.host is not None:
                held[port.host, port.id] = float(grown.first[fast[place], 1])
    return max(sorted(by_counter.items()), key=lambda row: len(row[1]), default=("", {}))[1]


def read_since(window: JobWindow, at: float) -> set[str]:
    """Return the hosts whose counters of errors were all read twice since a moment (epoch s)."""
    fewest: dict[str, int] = {}
    for plane in ports.planes(window, ERRORS, COUNTED):
        found = plane.readings.between(at, np.inf)
        times = ((found.at >= at) & np.isfinite(found.value)).sum(axis=1)
        for row, count in enumerate(times.tolist()):
            port = plane.entity(window, row)
            if port is not None and port.host is not None:
                fewest[port.host] = min(fewest.get(port.host, count), count)
    return {host for host, count in fewest.items() if count > 1}
