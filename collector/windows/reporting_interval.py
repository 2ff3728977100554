"""How often a plane's readings come, learnt from the time between them."""

import numpy as np

from ...detectors.window import Floats

INTERVALS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0)
"""How long a slot may be, in seconds: the longest that does not exceed the reporting interval."""

GAPS_NEEDED = 4
"""Reporting intervals that are seen before one is believed to be usual."""

_SHORTEST_GAP, _LONGEST_GAP = 0.1, 600.0
"""Seconds; other gaps are one report in parts, or an absence."""


class ReportingInterval:
    """Becomes `known` after some gaps, and shorter where later ones are. Never longer."""

    def __init__(self) -> None:
        self.known = False
        self._gaps: list[float] = []

    def settled(self, gaps: Floats, interval: float) -> bool:
        """Tell whether it is known, and none of these gaps could make it another."""
        if not self.known or self._gaps:
            return False
        if np.minimum.reduce(gaps) > 0.6 * interval:  # as mostly
            return True
        shorter = (gaps > _SHORTEST_GAP) & (gaps <= 0.6 * interval)
        return not np.count_nonzero(shorter)

    def usual_gap(self, interval: float) -> float:
        """Return the seconds between two readings beyond which they say nothing new of it.

        inf while it is learnt. `interval` is the one in use.
        """
        return 0.6 * interval if self.known and not self._gaps else np.inf

    def learn(self, gap: float, interval: float) -> float | None:
        """Take the seconds between two readings; return a new interval where it is another.

        `interval` is the one in use.
        """
        if not _SHORTEST_GAP < gap < _LONGEST_GAP or (self.known and gap > 0.6 * interval):
            if self.known and self._gaps:
                self._gaps.pop()
            return None
        if self.known and interval == INTERVALS[0]:
            return None
        self._gaps.append(gap)
        if len(self._gaps) < GAPS_NEEDED * (2 if self.known else 1):
            return None
        usual = float(np.median(self._gaps)) if self.known else min(self._gaps)
        self.known = True
        self._gaps.clear()
        return max((one for one in INTERVALS if one <= 1.1 * usual), default=INTERVALS[0])
