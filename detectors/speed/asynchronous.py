"""Ranks that do not end their steps together: each is compared by its own newest ones."""

import numpy as np

from .. import compute_time, medians
from ..window import Flags, StepValues

SHARED = 20
"""Newest steps that two ranks at least have reported, by which ranks end steps together or not."""


def apart(steps: StepValues) -> bool:
    """Tell whether ranks end their steps at different times: the newest of some are long ago.

    Ranks of a synchronous job end a step together, however late some of them report it.
    """
    reported: Flags = np.isfinite(steps.at)
    newest = reported.shape[1] - 1 - np.argmax(reported[:, ::-1], axis=1)
    if np.median(newest) >= newest.max() - 3 and newest.min() >= newest.max() - 20:
        return False
    shared = np.flatnonzero(reported.sum(axis=0) >= 2)[-SHARED:]
    if not len(shared):
        return True
    at = steps.at[:, shared]
    away = medians.highest(at, axis=0) + medians.highest(-at, axis=0)
    step = medians.known(steps.plane(compute_time.STEP)[:, shared])
    return not medians.middle(away) < 2 * step


def aligned(steps: StepValues) -> StepValues:
    """Return the steps with each rank's newest one in the last column."""
    order = np.argsort(np.isfinite(steps.at), axis=1, kind="stable")
    rows = np.arange(len(order))[:, None]
    return StepValues(
        steps.index,
        steps.at[rows, order],
        {compute_time.STEP: steps.plane(compute_time.STEP)[rows, order]},
    )
