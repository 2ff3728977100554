"""What each rank did itself in a step: how long it waited for its batch, and what it worked."""

from dataclasses import dataclass

import numpy as np

from .. import compute_time
from ..arrays import Floats
from ..features import DATA, PARTS
from ..window import JobWindow


@dataclass(frozen=True, slots=True)
class RankWork:
    """[ranks, steps]: seconds until a rank had its batch, and of everything else that it did."""

    data: Floats
    busy: Floats

    @property
    def own(self) -> Floats:
        """Return [ranks, steps], all of it."""
        return self.data + self.busy


def work_of(window: JobWindow, columns: slice) -> RankWork | None:
    """Return the work of ranks in some complete steps, None where nobody reports any part of it.

    A step less the waits inside collectives, else the sum of the parts that are reported.
    """
    steps = window.features.steps
    if not (steps.has(compute_time.COMPUTE) or steps.has(compute_time.COMM)):
        return None

    def plane(name: str) -> Floats:
        return steps.plane(name)[:, columns].astype(np.float64)

    data = np.nan_to_num(plane(DATA)) if DATA in steps.planes else np.zeros(1)
    if steps.has(compute_time.COMM) and steps.has(compute_time.STEP):
        own = plane(compute_time.STEP) - plane(compute_time.COMM)
    else:
        own = plane(compute_time.COMPUTE)
        for name in PARTS:
            if name not in (compute_time.COMPUTE, compute_time.COMM) and name in steps.planes:
                own = own + np.nan_to_num(plane(name))
    own = np.where(own < compute_time.MOST, own, np.nan)
    data = np.minimum(np.broadcast_to(data, own.shape), np.nan_to_num(own))
    return RankWork(data, np.maximum(own - data, 0.0))
