"""Devices whose power limit is below that of their peers of the same model."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import medians
from ..contract import Detector
from ..findings import report
from ..window import Flags, Ints, JobWindow
from . import devices
from .throttling import CLOCK

LIMIT = "hw.power.limit"

SECONDS = 60.0
"""The newest time range in which clocks are compared."""


class PowerLimitsDetector(Detector):
    """Name devices with a lower power limit than most devices of their model.

    Usual is the limit that most devices of the model have, of equals the higher once every rank's
    device has reported; where no source tells models apart, that most devices of the host have.
    Half of the devices at most can be unlike it. It harms where it is reached: the score is 1.9
    where the device, with work, runs at a lower clock than its peers, or where nobody reports
    clocks; 0.9 while it runs as they do or has no work: a pool may be of several limits.

    Parameters
    ----------
    least : how far below the usual limit counts (0.05 = 5 %).
    slower : how far below its peers' median a clock is lower (0.03 = 3 %).

    Examples
    --------
    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> limit = np.array([[700.0], [700.0], [700.0], [500.0]])
    >>> at = START + np.arange(0, 61, 5)
    >>> window = sketch(np.full((4, 60), 0.8), rank_readings={
    ...     "hw.power.limit": readings(at, limit),
    ...     "hw.gpu.memory.limit": readings(at, np.full((4, 1), 80 * 2.0**30))})
    >>> [finding.text for finding in PowerLimitsDetector().evaluate(window)]
    ['gpu GPU-3 on host-1: power limit 500 W, its peers have 700 W']

    Fails where a site caps every device alike (its choice, and no peer shows it), and where the
    board, not the limit, brakes the device (see throttling.py).

    References: nvmlDeviceGetEnforcedPowerLimit.
    """

    name = "power_limits"
    kinds = ("gpu.power_limit_low",)
    cadence_seconds = 5.0

    def __init__(self, *, least: float = 0.05, slower: float = 0.03) -> None:
        self.least = least
        self.slower = slower

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device."""
        if LIMIT not in window.rank_readings:
            return []
        limit = devices.latest(window, LIMIT)
        valid = np.isfinite(limit) & (limit > 0) & (limit < 1e6)
        seen = limit[valid]
        if not len(seen) or seen.min() >= (1 - self.least) * np.round(seen.max()):
            return []  # nobody is far enough below anybody
        kinds, known = devices.models(window, power=False)
        if not known:
            # Nothing tells models apart: another host may have other devices.
            kinds = window.host_of
        findings = []
        for kind in np.unique(kinds[valid]):
            rows = np.flatnonzero(valid & (kinds == kind))
            # Of two of one model the lower is the odd one: nothing lets a limit rise by itself.
            if len(rows) < (2 if known else devices.FEWEST_PEERS) or (not known and kind < 0):
                continue
            levels, counts = np.unique(np.round(limit[rows]), return_counts=True)
            usual = float(levels[counts == counts.max()].max())
            low = rows[limit[rows] < (1 - self.least) * usual]
            tie = 2 * len(low) == len(rows)
            if 2 * len(low) > len(rows) or (tie and not valid.all()):
                continue
            reached = self._reached(window, low, np.setdiff1d(rows, low))
            for row in low[reached].tolist():
                findings += self._finding(window, row, float(limit[row]), usual, score=1.9)
            for row in low[~reached].tolist():
                findings += self._finding(window, row, float(limit[row]), usual, score=0.9)
        return findings

    def _reached(self, window: JobWindow, low: Ints, peers: Ints) -> Flags:
        """Return [low], which devices run slower than their peers; all where no clock is known."""
        clock = devices.level(window, CLOCK, SECONDS)
        at_work = np.isfinite(clock) & ~devices.waiting(window, SECONDS)
        usual = medians.middle(clock[peers[at_work[peers]]]) if at_work[peers].any() else 0.0
        slower: Flags = at_work[low] & (clock[low] < (1 - self.slower) * usual)
        return slower if np.isfinite(clock).any() else np.ones_like(slower)

    def _finding(
        self, window: JobWindow, row: int, limit: float, usual: float, *, score: float
    ) -> list[Finding]:
        entity = window.gpu_entity(row)
        if entity is None:
            return []
        first = devices.since(window.rank_readings[LIMIT], row, (limit + usual) / 2, below=True)
        found = report(
            window,
            self.name,
            "gpu.power_limit_low",
            entity,
            onset=first,
            magnitude=limit / usual,
            # No page until the job waits for it, which shows in the steps.
            score=score,
            signal=LIMIT,
            observed=limit,
            expected=usual,
            text=f"{entity}: power limit {limit:.0f} W, its peers have {usual:.0f} W",
        )
        return [found]
