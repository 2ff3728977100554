"""What each rank did itself in a step: before its forward and backward, and in them."""

from dataclasses import dataclass, replace

import numpy as np

from .. import compute_time
from ..arrays import Floats, Ints
from ..features import DATA, PARTS
from ..window import JobWindow

_GC = "training.gc.duration"


@dataclass(frozen=True, slots=True)
class RankWork:
    """[ranks, steps], seconds: waits for the batch, other work between steps, forward and backward.

    Where nobody reports the last by itself it holds all that is not the wait for the batch.
    """

    data: Floats
    beside: Floats
    busy: Floats

    @property
    def ready(self) -> Floats:
        """Return [ranks, steps], when a rank could begin with forward."""
        return self.data + self.beside

    def of(self, rows: Ints) -> "RankWork":
        return RankWork(self.data[rows], self.beside[rows], self.busy[rows])

    def put(self, rows: Ints, other: "RankWork") -> "RankWork":
        """Return the work with that of some rows replaced, [rows, steps]."""
        parts = []
        for mine, new in (
            (self.data, other.data),
            (self.beside, other.beside),
            (self.busy, other.busy),
        ):
            whole = mine.copy()
            whole[rows] = new
            parts.append(whole)
        return RankWork(*parts)

    def handed_out(self) -> "RankWork":
        """Return the work of ranks that all get their batches from the one that is last with it."""
        latest = np.max(self.ready, axis=0, keepdims=True, initial=0.0)
        return replace(self, data=np.maximum(latest - self.beside, self.data))


def work_of(window: JobWindow, columns: slice) -> RankWork | None:
    """Return the work of ranks in some complete steps, None where nobody reports any part of it.

    All of it: a step less the waits inside collectives, else the sum of what is reported.
    """
    steps = window.features.steps
    if not (steps.has(compute_time.COMPUTE) or steps.has(compute_time.COMM)):
        return None

    def part(name: str) -> Floats:
        if name not in steps.planes:
            return np.zeros((len(steps.at), len(steps.index[columns])))
        plane = steps.planes[name][:, columns].astype(np.float64)
        return np.where(np.abs(plane) < compute_time.MOST, np.maximum(plane, 0.0), np.nan)

    if steps.has(compute_time.COMM) and steps.has(compute_time.STEP):
        own = np.maximum(part(compute_time.STEP) - part(compute_time.COMM), 0.0)
    else:
        own = part(compute_time.COMPUTE)
        for name in PARTS:
            if name not in (compute_time.COMPUTE, compute_time.COMM):
                own = own + np.nan_to_num(part(name))
    data = np.minimum(np.nan_to_num(part(DATA)), np.nan_to_num(own))
    left = own - data
    if not steps.has(compute_time.COMPUTE):
        return RankWork(data, np.zeros_like(left), left)
    busy = np.minimum(part(compute_time.COMPUTE) + np.nan_to_num(part(_GC)), left)
    busy = np.where(np.isfinite(busy), busy, left)
    return RankWork(data, left - busy, busy)
