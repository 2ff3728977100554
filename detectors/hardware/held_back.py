"""Devices whose clocks are held down, before enough steps have ended to show what that costs."""

from collections.abc import Callable, Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..findings import INFORMATION, report
from ..window import Flags, Ints, JobWindow
from . import devices
from .throttling import CLOCK

NEWEST_SECONDS = 20.0
"""What a clock is now, where steps are reported."""

LEAST_STALLED, STALLED_STEPS = 7.5, 2.0
"""Seconds, or usual steps where they are longer, without a step from which on it may be a pause."""

PAUSES = 0.05
"""Share of the time, more than its peers, that a device without work for a while is idle."""

BY_MEAN = ("gpu.clock_low", "gpu.power_held")
"""Kinds of findings that rest on a mean of few readings, some of which may be of a device at rest:
between steps its clock falls and its power cap ends. At its cap it wanders from reading to
reading."""

WANDERS_SECONDS, WANDERS, WANDERS_READINGS = 60.0, 0.08, 6
"""A clock that is lower by less than such a share may be one that wanders, until the highest of so
many readings, in so many seconds at least, is low."""

SETTLED_SECONDS = 15.0
"""A low clock of less is a pause of its own, or of its job."""


def before_steps_show(
    window: JobWindow,
    detector: str,
    of_clocks: Callable[[JobWindow], Sequence[Finding]],
    lower: float,
) -> list[Finding]:
    """Return the busy devices whose clocks are held down while the job's steps go on.

    of_clocks: gives what is found of clocks. lower: how far below its peers' such a clock must be.
    """
    if CLOCK not in window.rank_readings or len(window.ranks) < devices.FEWEST_PEERS:
        return []
    ends = window.features.step_ends
    if not np.isfinite(ends).any():
        return []
    ended, usual = window.features.pace
    going_on = max(LEAST_STALLED, STALLED_STEPS * usual)
    newest = window.rank_readings[CLOCK].newest_at()
    paused = not newest - ended < going_on
    if paused or window.features.stale:
        return []  # while no step ends, who has no work runs at a low clock
    held = of_clocks(window)
    if not held:
        return []
    # Both its mean and its newest reading: a device that has just begun to work is no slow one.
    clock = np.fmax(devices.level(window, CLOCK, NEWEST_SECONDS), devices.latest(window, CLOCK))
    kinds, _ = devices.models(window, power=False)
    slower = _slower(window, kinds, lower)
    busy = devices.level(window, "hw.gpu.utilization", NEWEST_SECONDS)
    work = ~devices.waiting(window, NEWEST_SECONDS) & (clock > 0)
    with np.errstate(invalid="ignore"):
        # Whom the others wait for is as busy as they are: who pauses runs at a low clock.
        work &= ~(busy < devices.peers_median(busy, kinds, work) - PAUSES)
        work &= ~(devices.level(window, "hw.gpu.throttle|idle", NEWEST_SECONDS) > PAUSES)
    with np.errstate(invalid="ignore"):
        ratio = devices.peers_median(clock, kinds, work) / np.where(work, clock, np.nan)
    # Before the first step it had no work, and a low clock.
    first = float(np.nanmin(ends)) - usual
    findings: dict[int, Finding] = {}
    for found in held:
        row = window.row_of(next(iter(found.ranks), -1))
        if row is None or row in findings or not ratio[row] >= 1 + lower:
            continue
        if found.kind in BY_MEAN and not slower[row]:
            continue
        if newest - found.onset[1] < SETTLED_SECONDS:
            continue  # a pause of its own, or of its job
        findings[row] = report(
            window,
            detector,
            "gpu.behind_peers",
            found.entity,
            onset=(max(found.onset[0], first), max(found.onset[1], first)),
            magnitude=float(ratio[row]),
            score=INFORMATION,
            signal=found.signal,
            observed=found.observed,
            expected=found.expected,
            text=f"{found.text}; a synchronous job waits for its slowest device",
        )
    return list(findings.values()) if 2 * len(findings) <= len(ratio) else []


def _slower(window: JobWindow, kinds: Ints, lower: float) -> Flags:
    """Return [ranks], whose device reached the clock of its peers in none of its newest readings.

    By `lower` of it; at rest and at its cap a clock is low whatever the device.
    """
    held = window.rank_readings[CLOCK]
    slower = np.zeros(len(window.ranks), np.bool_)
    for range_seconds, share, fewest in (
        (NEWEST_SECONDS, max(WANDERS, lower), devices.FEWEST_READINGS),
        (WANDERS_SECONDS, lower, WANDERS_READINGS),
    ):
        seconds = max(range_seconds, (fewest + 0.2) * held.period())
        reached = devices.highest(held, seconds, fewest=fewest)
        usual = devices.peers_median(reached, kinds, np.isfinite(reached))
        with np.errstate(invalid="ignore"):
            slower |= reached < (1 - share) * usual
    return slower
