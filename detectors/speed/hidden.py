"""Slow ranks whose excess is hidden behind a rank that comes far later."""

import numpy as np

from .. import compute_time, medians
from ..features import DATA
from ..window import Flags, Floats, Ints, StepValues

FAR = 3.0
"""Of an excess so many times smaller than the delay of another, less than a third is ever felt."""


def behind_data(steps: StepValues, own: Floats, effect: Floats, rows: Ints, count: int) -> Flags:
    """Return [rows], whose excess hides behind another rank's wait for data.

    own: [ranks, steps] seconds; effect: [ranks], the excess as a share; count: newest steps looked
    at. The ranks of a synchronous job wait for the last one: where one that is not among them waits
    for its batch FAR times longer than they are slow, and less in collectives than they do, they
    wait for it, and would without their own excess.
    """
    none = np.zeros(len(rows), np.bool_)
    others = np.setdiff1d(np.arange(len(own)), rows)
    if not len(others) or not (steps.has(DATA) and steps.has(compute_time.COMM)):
        return none
    data = medians.median(steps.plane(DATA)[:, -count:], axis=1)
    wait = medians.median(steps.plane(compute_time.COMM)[:, -count:], axis=1)
    others = others[np.isfinite(data[others]) & np.isfinite(wait[others])]
    if not len(others):
        return none
    late = data - medians.known(data)
    last = int(others[np.argmax(late[others])])
    spent = medians.median(own[rows][:, -count:], axis=1)
    excess = spent * effect[rows] / (1.0 + effect[rows])
    with np.errstate(invalid="ignore"):
        found: Flags = (late[last] >= FAR * excess) & (wait[last] < wait[rows])
    return found
