"""Busy devices whose SM clock is below that of their peers, though they report no reason for it."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import medians
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, Ints, JobWindow
from . import devices
from .throttling import CLOCK, held_down

REASONS = "hw.gpu.throttle|"

HOT = 8.0
"""Degrees above its peers from which on heat explains a low clock where no reason is reported."""

NEAR_LIMIT = 0.97
"""Share of the power limit from which on the limit explains it."""

THROTTLES_AT = 80.0
"""Degrees below which no device slows itself down."""

BEFORE, PAST, OLDER = 90.0, 600.0, 0.4
"""A device's own past is what it did from so many seconds ago back to so many; of that its older
part, this share, says what was usual."""

ALIKE_PEERS, ALIKE = 3, 0.01
"""So many peers whose clocks differ by no more than this share of them are known as well."""

MANY = 8
"""Peers from which on their spread is known well enough for small differences."""


class LowClockDetector(Detector):
    """Compare the SM clocks of busy devices of one model and power limit.

    A clock counts that is below the median of the peers by `least` (half of it where there are
    eight peers or more, or three that all run alike) and by six times their own robust spread, over
    the newest `seconds`.
    Devices that report heat or a brake are left to throttling.py. Where no reasons are reported, a
    device far hotter than its peers, or near its slowdown limit, counts as throttled, one at its
    power limit while its peers are not as held by power; what is left has its clock set low.
    A device that has become hot while its own clock fell counts as throttled too, alone or with its
    whole host. Where no limit says what a model is, a host whose devices all run alike is another
    model.

    Parameters
    ----------
    seconds : the newest time range evaluated; at least three readings lie in it.
    least : how far below its peers a clock must run (0.08 = 8 %).

    Examples
    --------
    The device of rank 3 runs at 1095 MHz, its peers at 1755 MHz.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> clock = np.full((4, 1), 1.755e9)
    >>> clock[3] = 1.095e9
    >>> window = sketch(np.full((4, 60), 0.8), rank_readings={
    ...     "hw.frequency|sm": readings(START + np.arange(0, 61, 5), clock)})
    >>> (low,) = LowClockDetector().evaluate(window)
    >>> low.kind, low.text
    ('gpu.clock_low', 'gpu GPU-3 on host-1: SM clock 1095 MHz, peers 1755 MHz')

    Fails where all devices of one kind run low alike, where fewer than three are compared, and
    where a whole host of the job's own model runs low and no limit is reported.

    References: NVML clocks and clock event reasons.
    """

    name = "low_clock"
    kinds = ("gpu.clock_low", "gpu.throttled", "gpu.power_held")
    cadence_seconds = 5.0

    def __init__(self, *, seconds: float = 20.0, least: float = 0.08) -> None:
        self.seconds = seconds
        self.least = least

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device whose clock is low."""
        key = (LowClockDetector, *vars(self).values())
        return window.features.once(key, lambda: self._evaluated(window))

    def _evaluated(self, window: JobWindow) -> Sequence[Finding]:
        if CLOCK not in window.rank_readings:
            return []
        clock, newest = devices.recent(window.rank_readings[CLOCK], self.seconds)
        low, usual = self._low(window, clock)
        heated = self._heated(window, clock, newest)
        usual = np.where(np.isfinite(heated) & ~low, heated, usual)
        rows = np.flatnonzero(low | np.isfinite(heated))
        if not len(rows):
            return []
        why = self._why(window, rows) | dict.fromkeys(
            np.flatnonzero(np.isfinite(heated)).tolist(), "gpu.throttled"
        )
        findings = []
        for row in rows.tolist():
            entity = window.gpu_entity(row)
            if entity is None:
                continue
            seen, peers = float(clock[row]), float(usual[row])
            held = window.rank_readings[CLOCK]
            first = devices.since(held, row, (seen + peers) / 2, below=True)
            findings.append(
                report(
                    window,
                    self.name,
                    why[row],
                    entity,
                    onset=(min(first, newest) - held.period(), min(first, newest)),
                    magnitude=seen / peers,
                    score=2.0 if 1 - seen / peers < 2 * self.least else 3.0,
                    signal="hw.frequency",
                    observed=seen,
                    expected=peers,
                    text=f"{entity}: SM clock {seen / 1e6:.0f} MHz, "
                    f"{'peers' if low[row] else 'before it became hot'} {peers / 1e6:.0f} MHz",
                )
            )
        return findings

    def _low(self, window: JobWindow, clock: Floats) -> tuple[Flags, Floats]:
        """Return [ranks], whose busy device runs below those of its kind, and what is usual."""
        work = ~devices.waiting(window, self.seconds) & np.isfinite(clock) & (clock > 0)
        kinds, known = devices.models(window)
        usual = devices.peers_median(clock, kinds, work)
        low = np.zeros(len(clock), np.bool_)
        for kind in np.unique(kinds[work]):
            same = np.flatnonzero(work & (kinds == kind))
            peers = float(usual[same[0]])
            if not peers > 0:
                continue
            alike = len(same) >= MANY or _others_alike(clock[same])
            least = self.least / 2 if alike else self.least
            below = max(least * peers, 6 * medians.spread(clock[same]))
            for row in same[clock[same] < peers - below].tolist():
                worked = devices.level_under_load(window, CLOCK, row, self.seconds)
                low[row] = worked < peers - below
        if low.any():
            low &= ~held_down(window, self.seconds)
        if not known:
            for row in np.flatnonzero(low).tolist():
                low[row] &= not _host_runs_alike(window, work, clock, row, self.least)
        return low, usual

    def _heated(self, window: JobWindow, clock: Floats, newest: float) -> Floats:
        """Return [ranks], the clock before a device became hot and slow; NaN where it did not.

        By its own past, since what cools a chassis fails for all devices in it.
        """
        before = np.full(len(clock), np.nan)
        heat = window.rank_readings.get("hw.temperature|gpu")
        if heat is None or any(name.startswith(REASONS) for name in window.rank_readings):
            return before
        with np.errstate(invalid="ignore"):
            now = devices.level(window, "hw.temperature|gpu", self.seconds)
            rows = np.flatnonzero(now >= THROTTLES_AT)
        if not len(rows):
            return before
        start = max(newest - PAST, window.attempt_started_at + 60.0)
        held, heat = window.rank_readings[CLOCK].of(rows), heat.of(rows)
        # The older part of its past: some of the newer one may be hot already.
        end = start + OLDER * (newest - BEFORE - start)
        was, cool = (one.mean(start, end) for one in (held, heat))
        # A device that slows itself down is fast again for a while in between.
        hot = held.mean(newest - 3 * self.seconds, newest)
        busy = ~devices.waiting(window, self.seconds)[rows]
        with np.errstate(invalid="ignore"):
            fell = busy & (hot <= (1 - self.least) * was) & (now[rows] >= cool + HOT)
        for place in np.flatnonzero(fell).tolist():
            row = int(rows[place])
            worked = devices.under_load(window, window.rank_readings[CLOCK], row)
            hot_at_work = worked.mean(newest - 3 * self.seconds, newest)[0]
            if hot_at_work <= (1 - self.least) * was[place]:
                before[row] = was[place]
        return before

    def _why(self, window: JobWindow, rows: Ints) -> dict[int, str]:
        """Return by row which kind of finding a low clock is."""
        kinds, _ = devices.models(window)
        heat = devices.level(window, "hw.temperature|gpu", self.seconds)
        limit = devices.latest(window, "hw.temperature.limit|slowdown")
        share = devices.level(window, "hw.power", self.seconds) / np.where(
            (held := devices.latest(window, "hw.power.limit")) > 0, held, np.nan
        )
        everyone = np.ones(len(heat), np.bool_)
        others = everyone.copy()
        others[rows] = False
        with np.errstate(invalid="ignore"):
            hot = heat >= devices.peers_median(heat, kinds, others) + HOT
            hot |= heat >= limit - 1
            full = (share >= NEAR_LIMIT) & (
                devices.peers_median(share, kinds, others) < NEAR_LIMIT - 0.05
            )
        reasons = any(name.startswith(REASONS) for name in window.rank_readings)
        found: dict[int, str] = {}
        for row in rows.tolist():
            found[row] = "gpu.clock_low"
            if not reasons and hot[row]:
                found[row] = "gpu.throttled"
            elif not reasons and full[row]:
                found[row] = "gpu.power_held"
        return found


def _others_alike(speeds: Floats) -> bool:
    """Tell whether all devices but the slowest, three at least, run at the very same clock."""
    others = np.sort(speeds)[1:]
    return len(others) >= ALIKE_PEERS and bool(np.ptp(others) <= ALIKE * others[-1])


def _host_runs_alike(window: JobWindow, work: Flags, speed: Floats, row: int, least: float) -> bool:
    """Tell whether all devices of a row's host, two at least, run at about its clock."""
    host = window.host_of[row]
    beside = speed[work & (window.host_of == host)]
    return bool(host >= 0 and len(beside) > 1 and np.ptp(beside) < least / 2 * beside.max())
