"""Steps that take longer since a change: a moment to compare at is known, and need not be found."""

import math

import numpy as np

from ...vocabulary.samples import Event
from .. import medians, onsets
from ..baselines import FEW_WARM_UP
from ..healthy_time import pace_of_few
from ..pace import AT_ONCE, CERTAINTY, SIDE_STEPS, SlowSteps
from ..tenants import own_events
from ..window import Floats, JobWindow

CHANGE = "change"

LEAST = 1.03
"""The smallest ratio: of one moment that is given, rather than of every moment."""

FEWEST, MOST = 8, 100
"""Steps on either side of a change, at least and at most."""

MOST_CHANGES = 8
"""So many of the newest changes are looked at: a roll-out reaches one host after the other."""


def changes(window: JobWindow) -> list[Event]:
    """Return the changes of code, configuration, driver or image on the job's hosts."""
    return [event for event in own_events(window) if event.name == CHANGE]


def slow_since_change(
    window: JobWindow, duration: Floats, ends: Floats, *, sigmas: float
) -> SlowSteps | None:
    """Return what the steps after one of the newest changes show against those before it.

    duration, ends: [steps], seconds and when each step ended. Where a search over all moments has
    to ask for 5 % and many steps, one question about a moment that is given is answered by the
    median of eight steps on either side. Growth that came little by little began before the change
    or has nothing to do with it. The step that the change falls into belongs to neither side.
    """
    for change in changes(window)[: -MOST_CHANGES - 1 : -1]:
        found = _slow_since(change.at, duration, ends, sigmas)
        if found is not None:
            return found
    return None


def _slow_since(at: float, duration: Floats, ends: Floats, sigmas: float) -> SlowSteps | None:
    """Return what the steps after a moment show against those before it."""
    valid = np.flatnonzero(np.isfinite(duration) & np.isfinite(ends))
    valid = valid[valid >= FEW_WARM_UP]
    place = int(np.searchsorted(ends[valid], at))
    before = duration[valid[max(place - MOST, 0) : place]]
    since = duration[valid[place + 1 :]][-MOST:]
    if min(len(before), len(since)) < FEWEST:
        return None
    healthy, now = pace_of_few(before), pace_of_few(since)
    grown = now.seconds - healthy.seconds
    noise = math.hypot(healthy.wander, now.wander) + CERTAINTY * healthy.seconds
    if now.seconds < LEAST * healthy.seconds or grown < sigmas * noise:
        return None
    limit = healthy.seconds + grown / 2
    newest = since[len(since) // 2 :]
    if medians.middle(newest) < limit or (since > limit).mean() < onsets.ODD_SHARE:
        return None
    beside = medians.middle(since[:SIDE_STEPS]) - medians.middle(before[-SIDE_STEPS:])
    if beside < AT_ONCE * grown:
        return None
    first = int(valid[place + 1])
    return SlowSteps(healthy.seconds, now.seconds, first, noise, LEAST, len(since))


__all__ = ["CHANGE", "changes", "slow_since_change"]
