"""The newest steps, as far as half of the ranks have reported them."""

import numpy as np

from .. import compute_time, medians
from ..window import Floats, JobWindow, StepValues
from .usual import UsualRatios

SHARE = 0.5
"""Share of the ranks that must have reported a step."""

UNLIKE = 1.01
"""Those who report first are others than usual where their healthy ones take so much longer."""


TOGETHER, COMPARED = 0.02, 20
"""Ranks go together whose times for one step differ by no more than this share of it, in the middle
of so many steps."""


def first_reported(window: JobWindow) -> Floats | None:
    """Return [steps], how long each step took, those too that only some ranks have reported yet.

    None where there are no such steps, where ranks report other times than their peers, or where
    durations are not what ranks report: gaps between steps, or freed of tokens.
    """
    features, steps = window.features, window.steps
    held = len(features.steps.index)
    if not held < len(steps.index) or len(window.ranks) < 2 or not steps.has(compute_time.STEP):
        return None
    duration = (
        medians.median(steps.plane(compute_time.STEP), axis=0)
        if steps.kept is None
        else steps.kept.duration
    )
    if not np.array_equal(duration[:held], features.job_duration, equal_nan=True):
        return None
    together = features.steps.last(COMPARED).plane(compute_time.STEP)
    together = together[:, np.isfinite(together).all(axis=0)]
    if not together.shape[1]:
        return None
    apart = np.ptp(together, axis=0) / np.maximum(together.min(axis=0), 1e-9)
    return duration if medians.middle(apart) <= TOGETHER else None


def with_newest(window: JobWindow, usual: UsualRatios) -> tuple[StepValues, Floats, Floats] | None:
    """Return steps, own seconds and ratios to peers, with steps that only some have reported yet.

    None where there are no such steps, or where ranks have reported them whose habit is unknown.
    Hosts report one after the other, each every few seconds: whoever is slow is slow beside those
    that have reported as well. These may be of a faster model, so that their habits are taken out
    of what is healthy among them.
    """
    held = len(window.features.steps.index)
    steps = _mostly(window.steps)
    new = len(steps.index) - held
    if new <= 0:
        return None
    own, ratio = _values(window, steps)
    if (
        own is None
        or ratio is None
        or not usual.known[np.isfinite(ratio[:, -new:]).any(axis=1)].all()
    ):
        return None
    freed = ratio[:, -new:] / usual.ratio[:, None]
    factor = np.ones(freed.shape)
    for role in compute_time.roles(window.role_of):
        rows = np.flatnonzero(window.role_of == role)
        factor[rows] = np.fmax(compute_time.low_quantile(freed[rows]), 1.0)
    if (factor > UNLIKE).any():
        ratio = np.hstack([ratio[:, :-new], ratio[:, -new:] / factor])
    return steps, own, ratio


def _values(window: JobWindow, steps: StepValues) -> tuple[Floats | None, Floats | None]:
    if steps.kept is not None:
        return steps.kept.own, steps.kept.ratio
    own = compute_time.compute_time(steps)
    if own is None:
        return None, None
    return own, compute_time.against_peers(compute_time.per_token(own, steps), window.role_of)


def _mostly(steps: StepValues) -> StepValues:
    """Return the steps without the newest ones that fewer than half of the ranks have reported."""
    if not steps.at.size:
        return steps
    reported = np.isfinite(steps.at[:, -20:]).sum(axis=0)
    last = int(np.flatnonzero(reported >= SHARE * reported.max())[-1])
    return steps.cut(0, len(steps.index) - len(reported) + last + 1)
