"""Whether longer steps hold more work: the devices calculate for as much of the time as before.

A batch that is raised in stages, or longer sequences, make steps longer by what is calculated. What
is waited for (data, the network, one slow rank, the host) makes them longer by what is not: then
the same work lies in more time, and activity and power fall by as much as steps grew. Lower clocks
take power with them.
"""

import numpy as np

from .. import compute_time, medians
from ..window import JobWindow
from .since_change import changes

PAST_SECONDS = 180.0
"""So much of the time before is looked at, at most."""

SIGNS = (("hw.gpu.tensor.activity", 0.02), ("hw.gpu.sm.activity", 0.05), ("hw.power", 1.0))
"""Metric, and the least mean value of a device that calculates."""

KEPT = 0.25
"""Share of what waiting alone would take from activity that may be gone: readings have a noise."""

ALL, HALF, STEPS = 0.8, 0.5, 100
"""Share of the ranks whose own work must have grown, by which part of what steps grew by; steps
before that say what it was."""

FEWEST = 0.9
"""Share of the ranks of whose devices it must be known."""


def holds_more(window: JobWindow, since: float, ratio: float) -> bool:
    """Tell whether steps that grew by a ratio since then (epoch s) hold as much more work.

    False where no source tells what devices calculate: their power alone may be that of waiting.
    After a change of code, whose kernels may do the same in more time. And where ranks say that
    some of them work for no longer, but wait: more work is everybody's.
    """
    if any(change.at > since - PAST_SECONDS for change in changes(window)):
        return False
    if not _all_work_longer(window, since, ratio):
        return False
    known = False
    for metric, least in SIGNS:
        found = window.rank_readings.get(metric)
        if found is None:
            continue
        before, after = found.mean(since - PAST_SECONDS, since), found.mean(since, np.inf)
        both = np.isfinite(before) & np.isfinite(after) & (before >= least)
        if both.sum() < FEWEST * len(window.ranks):
            continue
        # By the mean of all: who is waited for works as before.
        left = float(after[both].sum() / before[both].sum())
        if left < 1 - KEPT * (1 - 1 / ratio):
            return False
        known |= metric != "hw.power"
    return known


def _all_work_longer(window: JobWindow, since: float, ratio: float) -> bool:
    """Tell whether nearly all ranks' own work grew; True where nobody reports it apart."""
    steps, own = window.features.steps, window.features.own
    if own is None or compute_time.own_plane(steps) == compute_time.STEP:
        return True
    first = int(np.searchsorted(np.nan_to_num(window.features.step_ends, nan=-np.inf), since))
    before = medians.median(own[:, max(first - STEPS, 0) : first], axis=1)
    grown = medians.median(own[:, first:], axis=1) / before - 1
    grown = grown[np.isfinite(grown)]
    return not len(grown) or float(np.quantile(grown, 1 - ALL)) >= HALF * (ratio - 1)
