"""What raises a loss after a resume that went well: other data, a warm-up, a mean begun anew."""

from ...vocabulary.log_lines import RESUME_EXPLAINED
from .. import curves, medians, tenants
from ..curves import JobCurve
from ..window import JobWindow
from .schedule import RATE

NORMS, ALIKE = 3, 0.25
"""Gradient norms before, and the share by which the median after may differ from theirs: hurt
weights have larger ones at once."""

MOST_OF_DATA, LEVEL, THIRD, SHOWN = 0.6, 0.3, 3, 9
"""Other data raise a loss by this share of it at most; so much of the rise may go, or come, from
the first third of so many points to the last one: what was lost is learnt again."""

WARMS = 1.5
"""A learning rate that rises by this factor after its first step warms up."""


def other(window: JobWindow, before: JobCurve, now: JobCurve, *, again: bool) -> bool:
    """Tell whether a loss is higher since it is of other data, or a mean over other points.

    So where its log explains it, as by an evaluation of what was loaded, or gradients are as large
    as they were and it stands on its new level. again: steps are made again, of the same data.
    """
    level = medians.middle(before.value)
    rise = medians.middle(now.value[:SHOWN]) - level
    if rise > MOST_OF_DATA * abs(level):
        return False
    if tenants.lines_of(window, RESUME_EXPLAINED):
        return True
    if again:
        return False
    norm = window.features.whole_gradient
    after = norm.at >= now.at[0]
    old, new = norm.value[~after][-len(before) :], norm.value[after]
    if len(old) < NORMS or not len(new):
        return False
    usual = medians.middle(old)
    if not abs(medians.middle(new) - usual) <= ALIKE * usual:
        return False
    if len(now) < SHOWN:
        return True  # more points will tell
    third = len(now) // THIRD
    moved = medians.middle(now.value[-third:]) - medians.middle(now.value[:third])
    return abs(moved) <= LEVEL * rise


def warms(window: JobWindow, resumed_at: float) -> bool:
    """Tell whether the learning rate has risen since a moment, as behind a warm-up."""
    rates = curves.curve(window.steps, window.ranks, RATE)
    since = rates.value[rates.at >= resumed_at]
    return len(since) > 1 and bool(0 < WARMS * since[0] <= since.max())
