"""Power limits that somebody lowered on most devices of a job's only host while it ran.

No peer shows what that costs: each device is compared with its own past.
"""

from dataclasses import dataclass

import numpy as np

from .. import medians
from ..window import Flags, Floats, Ints, JobWindow, PeriodicReadings
from . import devices

LIMIT = "hw.power.limit"
CLOCK = devices.CLOCK

UNLIMITED = 1e6
"""Watts from which on a limit means that there is none."""

LEAST, SLOWER = 0.05, 0.03
"""Shares by which a limit is lower than it was, and a clock."""

SECONDS = 60.0
"""The newest time range of a clock."""


@dataclass(frozen=True, slots=True)
class LoweredLimits:
    """Devices with a lower limit than they had.

    rows: [found], of ranks. was: [ranks], W, the highest limit of the attempt. since: [found], s
    since the epoch, when it fell. harms: [found], whether the device, with work, runs slower since
    then, or nobody reports clocks.
    """

    rows: Ints
    was: Floats
    since: Floats
    harms: Flags


def lowered(window: JobWindow) -> LoweredLimits | None:
    """Return them; None where the job is on several hosts, or most of its devices are as before."""
    return window.features.once((lowered,), lambda: _lowered(window))


def held_back(window: JobWindow) -> Flags:
    """Return [ranks], whose device runs slower since its limit was lowered."""
    held = np.zeros(len(window.ranks), np.bool_)
    found = lowered(window)
    if found is not None:
        held[found.rows[found.harms]] = True
    return held


def _lowered(window: JobWindow) -> LoweredLimits | None:
    if len(window.hosts) != 1 or LIMIT not in window.rank_readings:
        return None
    held = window.rank_readings[LIMIT]
    limit = held.latest()[0]
    known = np.isfinite(limit) & (limit > 0) & (limit < UNLIMITED)
    highest = np.fmax(held.highest(), np.fmax.reduce(held.history().value, axis=1, initial=-np.inf))
    if not (limit[known] < (1 - LEAST) * highest[known]).any():
        return None  # none was ever higher
    past = _reported(held, window.attempt_started_at)
    was = np.where(past < UNLIMITED, past, 0.0).max(axis=1, initial=0.0)
    rows = np.flatnonzero(known & (limit < (1 - LEAST) * was))
    if 2 * len(rows) <= known.sum():
        return None  # those whose limit is as it was show it
    middle = (limit + was) / 2
    since = np.array(
        [devices.since(held, row, float(middle[row]), below=True) for row in rows.tolist()]
    )
    return LoweredLimits(rows, was, since, _slowed(window, rows, since))


def _slowed(window: JobWindow, rows: Ints, since: Floats) -> Flags:
    """Return [rows], which run slower than before; all where no clock is known.

    At a cap a clock wanders, and between steps it is high: the middle of the newest readings
    against the middle of those before.
    """
    clock = window.rank_readings.get(CLOCK)
    if clock is None or not np.isfinite(clock.latest()[0]).any():
        return np.ones(len(rows), np.bool_)
    newest = clock.newest_at() - max(SECONDS, (devices.FEWEST_READINGS + 0.2) * clock.period())
    before = _reported(clock.of(rows), window.attempt_started_at, until=since)
    after = _reported(clock.of(rows), np.maximum(since, newest))
    slowed: Flags = ~devices.waiting(window, SECONDS)[rows]
    for one in (before, after):
        slowed &= (one > 0).sum(axis=1) >= devices.FEWEST_READINGS
    was, now = (medians.median(np.where(one > 0, one, np.nan), axis=1) for one in (before, after))
    with np.errstate(invalid="ignore"):
        slowed &= now < (1 - SLOWER) * was
    return slowed


def _reported(
    readings: PeriodicReadings, begin: float | Floats, until: float | Floats = np.inf
) -> Floats:
    """Return [rows, readings] from `begin` until `until`, thinned ones included; 0 where none is.

    begin, until: s since the epoch, of each row or of all.
    """
    found = []
    for held in (readings, readings.history()):
        inside = np.isfinite(held.value) & (held.at >= np.reshape(begin, (-1, 1)))
        inside &= held.at < np.reshape(until, (-1, 1))
        found.append(np.where(inside, held.value, 0.0))
    return np.concatenate(found, axis=1)
