"""What time it is in a recording: the newest event time over hosts whose clock can be believed.

The rule: the newest event time over hosts, leaving out hosts more than 60 s ahead of the median
host. Between two middle hosts the earlier one is the median: it is one that exists, and of two
hosts the one ahead is then the one left out.

Only hosts that still report are counted, or a recording in which most hosts die would stop its
clock 60 s later. Reports are counted in rounds: one ends when some host has moved on by more than
60 s, by its own clock; who reports nothing for a whole round is left out until it does again.
"""

import math
from collections.abc import Iterable

import numpy as np

AHEAD_SECONDS = 60.0


class EventClock:
    """The time of a recording. It never goes back."""

    def __init__(self) -> None:
        self.now: float | None = None
        self._newest: dict[str, float] = {}
        self._round: dict[str, float] = {}
        """Who reported in this round, and the newest time each had when it first did."""
        self._round_before: set[str] = set()
        self._median = -math.inf
        """Of the hosts that report, when last computed; their times only grow, and so does it."""

    def advance(self, newest: Iterable[tuple[str, float]]) -> None:
        """Take the newest event time of each host in one line."""
        for host, at in newest:
            at = max(at, self._newest.get(host, at))
            self._newest[host] = at
            if host not in self._round:
                self._round[host] = at
                if host not in self._round_before:
                    self._median = -math.inf
            elif at - self._round[host] > AHEAD_SECONDS:
                self._round_before = set(self._round)
                self._round = {host: at}
                self._median = -math.inf
            if at > self._median + AHEAD_SECONDS:
                self._settle()
            elif self.now is None or at > self.now:
                self.now = at

    def _settle(self) -> None:
        hosts = self._round_before | self._round.keys()
        times = np.sort(np.array([self._newest[host] for host in hosts]))
        self._median = float(times[(len(times) - 1) // 2])
        now = float(times[times <= self._median + AHEAD_SECONDS][-1])
        if self.now is None or now > self.now:
            self.now = now
