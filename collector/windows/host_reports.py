"""When hosts last reported, how often they do, when they came back: by who reported of them.

The node's own telemetry says it to every job. What belongs to a job says it to that job alone, so
that nobody who may speak for one job keeps a dead host alive for another, or makes it look lost.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints

LONGEST_INTERVAL_SECONDS = 60.0
"""A host that was away for longer was away, and does not report that rarely."""

GAPS_NEEDED = 3
"""Reporting intervals that are seen before a host's interval counts as known."""

SILENT_SECONDS = 10.0
"""A gap of so many seconds and of three usual intervals is a silence."""

_UNREPORTED = {
    "last_received": -np.inf,
    "interval": np.nan,
    "returned_at": -np.inf,
    "_longest": np.nan,
    "_gaps": 0.0,
}
"""By array of `ReportTimes`: what it has of a host that has reported nothing yet."""


class HostReportTimes(NamedTuple):
    """What is shown of the hosts of a job, all [hosts]."""

    last_received: Floats
    interval: Floats
    rarer: Floats
    returned_at: Floats


class ReportTimes:
    """When each of several hosts reported, to one owner; arrays are [rows]."""

    def __init__(self) -> None:
        self.last_received: Floats = np.zeros(0)
        """By the collector's clock; of what was scraped, when it was, however late it came."""
        self.interval: Floats = np.zeros(0)
        """Seconds between reports; NaN until it is known."""
        self.returned_at: Floats = np.zeros(0)
        """When it reported again after a silence; -inf where it never was silent."""
        self._longest: Floats = np.zeros(0)
        self._gaps: Floats = np.zeros(0)

    def fit(self, rows: int) -> None:
        """Make room for so many rows."""
        if rows <= len(self.last_received):
            return
        for name, fill in _UNREPORTED.items():
            old = getattr(self, name)
            longer = np.full(max(rows, 2 * len(old)), fill)
            longer[: len(old)] = old
            setattr(self, name, longer)

    def clear(self, row: int) -> None:
        for name, fill in _UNREPORTED.items():
            getattr(self, name)[row] = fill

    def received(self, row: int, now: float) -> None:
        last = self.last_received.item(row)
        gap = now - last
        usual = self.interval.item(row)
        silent = max(SILENT_SECONDS, 3 * usual) if usual >= 0 else LONGEST_INTERVAL_SECONDS
        if silent < gap < np.inf:
            self.returned_at[row] = now
        if 0.25 < gap < np.inf:
            # Quick to learn a longer interval, slow to unlearn it, so that sources with different
            # intervals on one host count as the slowest of them.
            gap = min(gap, LONGEST_INTERVAL_SECONDS)
            held = self._longest.item(row)
            longest = max(gap, 0.95 * held + 0.05 * gap) if held >= 0 else gap
            self._longest[row] = longest
            gaps = self._gaps.item(row) + 1
            if gaps <= GAPS_NEEDED:
                self._gaps[row] = gaps
            if gaps == GAPS_NEEDED and usual >= 0:
                longest = max(longest, usual)  # as it was announced
            if gaps >= GAPS_NEEDED:
                self.interval[row] = longest
        if now > last:
            self.last_received[row] = now

    def announce(self, row: int, seconds: float) -> None:
        """Take the interval at which a host says that it will report."""
        if 0 < seconds <= LONGEST_INTERVAL_SECONDS:
            self.interval[row] = seconds


class JobReports:
    """When the hosts of one attempt reported with its own telemetry."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._times = ReportTimes()
        self._shown: tuple[Sequence[str], int, Ints] = ((), 0, np.zeros(0, np.int64))
        """The hosts that were last shown, how many there were then in all, and their rows."""

    def received(self, host: str, now: float) -> None:
        """Note that telemetry of the attempt came from a host."""
        row = self._rows.get(host)
        if row is None:
            row = self._rows[host] = len(self._rows)
            self._times.fit(len(self._rows))
        self._times.received(row, now)

    def beside(self, node: ReportTimes, numbers: Ints, names: Sequence[str]) -> HostReportTimes:
        """Return what hosts show, by the node's reports and these; `numbers`, `names`: [hosts].

        A host lives as long as either comes. While both do, it reports as often as the quicker of
        them, its rarer source as often as the slower, and it was away where both were; what has
        fallen silent beside the other says nothing.
        """
        shown, count, rows = self._shown
        if shown is not names or count != len(self._rows):
            rows = np.array([self._rows.get(name, -1) for name in names], np.int64)
            self._shown = names, len(self._rows), rows
        last, interval = node.last_received[numbers], node.interval[numbers]
        mine, own_interval = self._of("last_received", rows), self._of("interval", rows)
        returned, own_returned = node.returned_at[numbers], self._of("returned_at", rows)
        alone = mine > last + np.fmax(SILENT_SECONDS, 3 * interval)
        over = last > mine + np.fmax(SILENT_SECONDS, 3 * own_interval)
        interval[alone], returned[alone] = np.nan, np.inf
        own_interval[over], own_returned[over] = np.nan, np.inf
        return HostReportTimes(
            np.maximum(mine, last),
            np.fmin(interval, own_interval),
            np.fmax(interval, own_interval),
            np.minimum(returned, own_returned),
        )

    def _of(self, name: str, rows: NDArray[np.int64]) -> Floats:
        held: Floats = getattr(self._times, name)
        known = rows >= 0
        if np.count_nonzero(known) == len(rows):  # as mostly
            return held[rows]
        found = np.full(len(rows), _UNREPORTED[name])
        found[known] = held[rows[known]]
        return found
