"""Devices whose power limit is below that of their peers of the same model."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import medians
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, Ints, JobWindow
from . import devices, lowered_limits
from .lowered_limits import LIMIT
from .throttling import CLOCK

SECONDS = 60.0
"""The newest time range in which clocks are compared."""

STANDING, LOWERED = 6, 2
"""So many readings of a clock say that its device is slower: at a cap it wanders, and few of them
may be low. Where the limit was seen to fall, those since then."""

MOVING_SECONDS = 300.0
"""A site moves the limits of all its hosts within so long, and not all of them at once."""

MOVED = 0.01
"""Share of a limit by which it moves at least when somebody moves it."""


class PowerLimitsDetector(Detector):
    """Name devices with a lower power limit than most devices of their model.

    Usual is the limit that most devices of the model have, of equals the higher once every rank's
    device has reported; where no source tells models apart, that most devices of the host have.
    Half of the devices at most can be unlike it. Two hosts or more that have had one lower limit on
    all their devices ever since they were first seen were bought with it, and are a pool of their
    own. A limit harms where it is reached: the score is 1.9 where the device, with work, reaches a
    lower clock than its peers do, or where nobody reports clocks; 0.9 while it runs as they do or
    has no work, and while the limits of several hosts move: the site is not yet done.
    A job on one host has no peers elsewhere: where the limits of most of its devices were seen to
    fall during the attempt they are compared with what they were, and their clocks likewise.

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

    Fails where a site caps every device of several hosts alike, or had done so before the attempt
    (its choice, and no peer shows it), and where the board, not the limit, brakes the device (see
    throttling.py).

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
        valid = np.isfinite(limit) & (limit > 0) & (limit < lowered_limits.UNLIMITED)
        seen = limit[valid]
        if not len(seen):
            return []
        if len(window.hosts) == 1 and (findings := self._lowered(window)):
            return findings
        if seen.min() >= (1 - self.least) * np.round(seen.max()):
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
            low = low[~_own_pool(window, low)]
            held = window.rank_readings[LIMIT]
            first = np.array(
                [
                    devices.since(held, row, (float(limit[row]) + usual) / 2, below=True)
                    for row in low
                ]
            )
            reached = self._reached(window, low, first, np.setdiff1d(rows, low))
            reached &= not _moving(window, rows)
            for row, since, harms in zip(low.tolist(), first.tolist(), reached, strict=True):
                findings += self._finding(window, row, float(limit[row]), usual, since, harms=harms)
        return findings

    def _lowered(self, window: JobWindow) -> list[Finding]:
        """Return the devices of the job's only host, where the limit of most of them fell."""
        found = lowered_limits.lowered(window)
        if found is None:
            return []
        limit = devices.latest(window, LIMIT)
        rows = zip(found.rows.tolist(), found.since.tolist(), found.harms, strict=True)
        return [
            one
            for row, since, harms in rows
            for one in self._finding(
                window,
                row,
                float(limit[row]),
                float(found.was[row]),
                since,
                harms=harms,
                itself=True,
            )
        ]

    def _reached(self, window: JobWindow, low: Ints, first: Floats, peers: Ints) -> Flags:
        """Return [low], which devices run slower than their peers; all where no clock is known.

        By the highest clock of each since its limit is low, `first`: at rest it is low whatever the
        device, and at its cap it wanders.
        """
        clock = window.rank_readings.get(CLOCK)
        if clock is None or not np.isfinite(devices.latest(window, CLOCK)).any():
            return np.ones(len(low), np.bool_)
        waiting = devices.waiting(window, SECONDS)
        theirs = devices.highest(clock, SECONDS)[peers[~waiting[peers]]]
        theirs = theirs[np.isfinite(theirs)]
        usual = medians.middle(theirs) if len(theirs) else 0.0
        start = clock.newest_at() - max(SECONDS, (STANDING + 0.2) * clock.period())
        held = clock.between(start, np.inf).of(low)
        since = (held.at >= np.maximum(first, start)[:, None]) & np.isfinite(held.value)
        reached = np.where(since, held.value, -np.inf).max(axis=1, initial=-np.inf)
        fewest = np.where(_moved(window, low, np.inf), LOWERED, STANDING)
        enough = ~waiting[low] & (since.sum(axis=1) >= fewest)
        slower: Flags = enough & (reached < (1 - self.slower) * usual)
        return slower

    def _finding(
        self,
        window: JobWindow,
        row: int,
        limit: float,
        usual: float,
        since: float,
        *,
        harms: bool,
        itself: bool = False,
    ) -> list[Finding]:
        """Return what is found of a device; `itself`: `usual` is what it had before."""
        entity = window.gpu_entity(row)
        if entity is None:
            return []
        found = report(
            window,
            self.name,
            "gpu.power_limit_low",
            entity,
            onset=since,
            magnitude=limit / usual,
            # No page until the job waits for it, which shows in the steps.
            score=1.9 if harms else 0.9,
            signal=LIMIT,
            observed=limit,
            expected=usual,
            text=f"{entity}: power limit {limit:.0f} W, "
            f"{'it had' if itself else 'its peers have'} {usual:.0f} W"
            f"{' before' if itself else ''}",
        )
        return [found]


def _own_pool(window: JobWindow, low: Ints) -> Flags:
    """Return [low], whose limit is that of two whole hosts or more since they were first seen."""
    limit = devices.latest(window, LIMIT)
    whole = [
        (host, float(np.round(limit[there[0]])))
        for host in np.unique(window.host_of[low]).tolist()
        if host >= 0
        and len(there := np.flatnonzero((window.host_of == host) & np.isfinite(limit)))
        and np.isin(there, low).all()
        and np.ptp(np.round(limit[there])) == 0
        and not _moved(window, there, np.inf).any()
    ]
    levels = [level for _, level in whole]
    pool = [host for host, level in whole if levels.count(level) > 1]
    return np.isin(window.host_of[low], pool)


def _moving(window: JobWindow, rows: Ints) -> bool:
    """Tell whether the limits of several hosts moved a while ago."""
    moved = rows[_moved(window, rows, MOVING_SECONDS)]
    return len(np.unique(window.host_of[moved])) > 1


def _moved(window: JobWindow, rows: Ints, seconds: float) -> Flags:
    """Return [rows], whose limit was another one within the newest seconds."""
    held = window.rank_readings[LIMIT].newest(seconds).of(rows)
    inside = np.isfinite(held.value) & (held.at >= held.newest_at() - seconds)
    lowest = np.where(inside, held.value, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(inside, held.value, -np.inf).max(axis=1, initial=-np.inf)
    moved: Flags = lowest < (1 - MOVED) * highest
    return moved
