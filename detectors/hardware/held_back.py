"""Devices whose clocks are held down, before enough steps have ended to show what that costs."""

from collections.abc import Callable, Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..findings import INFORMATION, report
from ..window import JobWindow
from . import devices
from .throttling import CLOCK

NEWEST_SECONDS = 20.0
"""What a clock is now, where steps are reported."""

LEAST_STALLED, STALLED_STEPS = 7.5, 2.0
"""Seconds, or usual steps where they are longer, without a step from which on it may be a pause."""

PAUSES = 0.05
"""Share of the time, more than its peers, that a device without work for a while is idle."""

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
