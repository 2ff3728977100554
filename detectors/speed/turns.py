"""Pauses of ranks in turn: steps in which one of them stops, and all others wait for it."""

from dataclasses import dataclass

import numpy as np

from .. import compute_time, medians
from ..features import DATA
from ..window import Flags, Floats, JobWindow, StepValues

FEWEST_STEPS, FEWEST_PAUSES = 10, 7
"""Steps that say anything, and steps of those looked at that must wait for a pause."""

MOST_TIMES = 3.0
"""A pause counts up to so many times the median one: a single long one is another matter."""


@dataclass(frozen=True, slots=True)
class AlternatingPauses:
    """Pauses in turn: [ranks, steps] seconds beyond peers and habit, and which of them are pauses.

    longest: [steps], the pause that each waits for, in seconds; lost: share of the time.
    """

    beyond: Floats
    late: Flags
    longest: Floats
    lost: float


def turns(some: StepValues, window: JobWindow, duration: Floats) -> AlternatingPauses | None:
    """Return the pauses that rotate in some steps, None where they do not; duration: of these."""
    pauses = late_steps(some, window)
    if pauses is None:
        return None
    beyond, late = pauses
    by_rank, steps = late.sum(axis=1), int(late.any(axis=0).sum())
    total = int(by_rank.sum())
    if steps < FEWEST_PAUSES or (by_rank > 0).sum() < 3 or by_rank.max() > 0.5 * total:
        return None
    # What lasts is no pause: nobody pauses in most steps, and most steps of a rank are usual.
    if by_rank.max() > 0.5 * late.shape[1]:
        return None
    longest = longest_of(beyond, late)
    longest = np.minimum(longest, MOST_TIMES * medians.middle(longest[longest > 0]))
    whole = float(np.nansum(duration))
    return AlternatingPauses(
        beyond, late, longest, float(longest.sum()) / whole if whole > 0 else 0.0
    )


def longest_of(beyond: Floats, late: Flags) -> Floats:
    """Return [steps], the longest pause in each, 0 where there is none."""
    longest: Floats = np.max(np.where(late, beyond, 0.0), axis=0)
    return longest


def late_steps(some: StepValues, window: JobWindow) -> tuple[Floats, Flags] | None:
    """Return what `pauses_of` returns, without those of many ranks at once.

    These are no turn: an evaluation, a checkpoint, the network.
    """
    pauses = pauses_of(some, window)
    if pauses is None:
        return None
    beyond, late = pauses
    return beyond, late & (late.sum(axis=0) <= max(1, len(late) // 4))


def pauses_of(recent: StepValues, window: JobWindow) -> tuple[Floats, Flags] | None:
    """Return ([ranks, steps] seconds beyond peers and habit, which of them are pauses)."""
    plane = (
        compute_time.COMM
        if recent.has(compute_time.COMM) and recent.has(compute_time.STEP)
        else None
    )
    plane = plane or compute_time.own_plane(recent)
    if plane is None or plane == compute_time.STEP:
        return None
    own = compute_time.own_seconds(recent, plane)
    if plane == compute_time.COMM and DATA in recent.planes:
        own = own - np.nan_to_num(recent.planes[DATA])
    own = compute_time.per_token(own, recent)
    beyond = np.full(own.shape, np.nan)
    for role in np.unique(window.role_of):
        rows = np.flatnonzero(window.role_of == role)
        if len(rows) > 1:
            beyond[rows] = own[rows] - medians.median(own[rows], axis=0)
    beyond = beyond - medians.median(beyond, axis=1)[:, None]
    valid = np.abs(beyond[np.isfinite(beyond)])
    if len(valid) < FEWEST_STEPS:
        return None
    noise = medians.OF_MAD * medians.middle(valid)
    step = float(np.nanmedian(own))
    with np.errstate(invalid="ignore"):
        late = beyond > max(6 * noise, 0.05 * step)
    return beyond, late
