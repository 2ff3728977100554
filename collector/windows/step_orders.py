"""In which order the points of steps are written, found once for all batches alike."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...detectors.window import Ints
from .write_orders import by_planes, edges, same, slices


class _StepWrite(NamedTuple):
    """The points of one plane, [begin, end) in the order by planes, and the rows they write."""

    plane: int
    begin: int
    end: int
    rows: Ints | slice


class StepOrder:
    """Which points [points] of a batch end steps, and the others by planes.

    steps: places of those that say which step ended. others: places of all others, as they came.
    by_plane: the same by planes; step_of: of each of these the place among `steps` of its row's,
    None where a row has several, or none.
    """

    def __init__(self, planes: Ints, rows: Ints, more: int) -> None:
        """Find it; `more`: the plane of which each point ends a step."""
        self._key = planes, rows
        self._step_plane = more
        ends = planes == more
        self.steps = ends.nonzero()[0]
        self.others = self.by_plane = (~ends).nonzero()[0]
        self.step_of: Ints | None = None
        self.writes: list[_StepWrite] = []
        if not len(self.steps) or not len(self.others):
            return
        order = by_planes(planes[self.others])
        if order is not None:
            self.by_plane = self.others[order]
        held, wrote = planes[self.by_plane], rows[self.by_plane]
        self.step_of = _step_of(rows[self.steps], wrote)
        for begin, end in pairwise(edges(held)):
            used = slices(wrote[begin:end])
            self.writes.append(_StepWrite(int(held[begin]), begin, end, used))

    def holds(self, planes: Ints, rows: Ints, more: int) -> bool:
        """Tell whether it is the order of these points."""
        return more == self._step_plane and all(map(same, (planes, rows), self._key))


def _step_of(ended: Ints, rows: Ints) -> Ints | None:
    """Return of each row its place among those whose steps ended; None where that is not one."""
    order = ended.argsort(kind="stable")
    known = ended[order]
    if np.count_nonzero(known[1:] == known[:-1]):
        return None
    place = np.minimum(known.searchsorted(rows), len(known) - 1)
    if np.count_nonzero(known[place] != rows):
        return None
    found: Ints = order[place]
    return found
