"""What is only claimed of an attempt's ranks: which places it fills, and what of it counts.

A job has so many ranks, and each runs once. Where any rank of an attempt is checked, what is only
claimed fills an empty place among them at most: it stands beside no rank that is checked, is no
further rank, says nothing of the job as a whole and names no process or device. Where nobody is
checked, as below agents that may not look at other users' processes, claims are all there is.
"""

import numpy as np

from ...detectors.window import Flags, Ints
from .attempt import JobAttempt
from .placements import CHECKED, ONLY_CLAIMED


def admitted(attempt: JobAttempt, ranks: Ints) -> Flags:
    """Return which of the ranks that claims name are theirs to fill; below 0: none is named."""
    attempt.claims = True
    if not attempt.checked:
        return np.ones(len(ranks), np.bool_)
    rows = attempt.placements.known_rows(ranks)
    empty = rows < 0
    empty[~empty] = attempt.placements.checked[rows[~empty]] != CHECKED
    flags: Flags = (ranks >= 0) & (ranks < attempt.world_size) & empty
    return flags


def note(attempt: JobAttempt, rows: Ints) -> None:
    checked = attempt.placements.checked
    checked[rows] = np.maximum(checked[rows], ONLY_CLAIMED)


def check(attempt: JobAttempt, rows: Ints) -> bool:
    """Note that ranks are checked; return whether claims are to be placed anew for it.

    An attempt of which claims were all there was so far begins anew, without them.
    """
    placements = attempt.placements
    if (placements.checked[rows] == CHECKED).all():
        return False
    placements.checked[rows] = CHECKED
    placements.version += 1
    attempt.superseded = attempt.superseded or (attempt.claims and not attempt.checked)
    attempt.checked = True
    return attempt.claims
