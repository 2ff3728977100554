"""In which order the points of a batch are written, found once for all batches alike.

A job's hosts report the same series each time, so the order by planes, where each plane's points
begin and which rows they write are those of last time.
"""

from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints

KEPT_POINTS, KEPT_OF_ROW = 2048, 64
"""Points of all orders that are kept of some matrices, and how many more for each of their rows.
About 32 bytes each, where a row has some thousand: orders of more points are found anew."""


class PointOrder(Protocol):
    """What follows from the planes and rows of points, and from one thing more."""

    def __init__(self, planes: Ints, rows: Ints, more: Any) -> None: ...

    def holds(self, planes: Ints, rows: Ints, more: Any) -> bool:
        """Tell whether it is that of these points."""
        ...


K = TypeVar("K", bound=PointOrder)


class KeptOrders(Generic[K]):
    """The orders of the batches that came last. In no snapshot: they are found again."""

    def __init__(self, kind: type[K]) -> None:
        self._kind = kind
        self._held: dict[tuple[int, int, int], K] = {}
        self._points = 0

    def __reduce__(self) -> tuple[type["KeptOrders[K]"], tuple[type[K]]]:
        """Return what a snapshot keeps: nothing of the orders."""
        return KeptOrders, (self._kind,)

    def of(self, planes: Ints, rows: Ints, more: Any, height: int) -> K:
        """Return the order of points, all [points]; height: rows of the matrices."""
        size, most = len(planes), KEPT_POINTS + KEPT_OF_ROW * height
        if size > most:
            return self._kind(planes, rows, more)
        key = (size, rows.item(0), planes.item(-1))
        found = self._held.pop(key, None)
        if found is None:
            self._points += size
        if found is None or not found.holds(planes, rows, more):
            found = self._kind(planes, rows, more)
        self._held[key] = found  # the newest last
        while self._points > most:
            oldest = next(iter(self._held))
            self._points -= oldest[0]
            del self._held[oldest]
        return found


class PlaneWrite(NamedTuple):
    """The points of one plane in a batch: [begin, end) in the order by planes.

    first: the first row that they write. rows: all of them, as a slice where they follow one
    another. edges: where batches begin among all points, and the end.
    """

    plane: int
    begin: int
    end: int
    first: int
    rows: Ints | slice
    edges: list[int]


class WriteOrder:
    """The order of points [points] by planes; `order` is None where they come in it.

    rows: [points] in that order. writes: what is written of them, by plane.
    """

    def __init__(self, planes: Ints, rows: Ints, more: Ints) -> None:
        """Find it; `more`: the places at which batches begin, without the first."""
        self._key = planes, rows, more
        self.order = by_planes(planes)
        part = None
        if len(more):
            part = np.zeros(len(planes), np.int64)
            part[more] = 1
            part = part.cumsum()
        if self.order is not None:
            planes, rows = planes[self.order], rows[self.order]
            part = None if part is None else part[self.order]
        self.rows = rows
        cuts = edges(planes)
        both = cuts if part is None else edges(planes * len(planes) + part)
        # Rows of a host mostly follow one another: then no step grows by anything but one.
        jumps = np.zeros(len(rows), np.int64)
        np.cumsum(rows[1:] - rows[:-1] != 1, out=jumps[1:])
        follow = (jumps[cuts[:-1]] == jumps[np.array(cuts[1:]) - 1]).tolist()
        of_part = np.searchsorted(both, cuts).tolist()
        self.writes = [
            PlaneWrite(
                number,
                begin,
                end,
                first,
                slice(first, first + end - begin) if slices else rows[begin:end],
                both[one : other + 1],
            )
            for number, first, (begin, end), (one, other), slices in zip(
                planes[cuts[:-1]].tolist(),
                rows[cuts[:-1]].tolist(),
                pairwise(cuts),
                pairwise(of_part),
                follow,
                strict=True,
            )
        ]

    def holds(self, planes: Ints, rows: Ints, more: Ints) -> bool:
        """Tell whether it is the order of these points."""
        return all(map(same, (planes, rows, more), self._key))


def by_planes(planes: Ints) -> NDArray[np.intp] | None:
    """Return the order of points by planes, None where they come in it."""
    if not np.count_nonzero(planes[1:] < planes[:-1]):
        return None
    return np.argsort(planes.astype(np.int16), kind="stable")  # 16 bits make it a radix sort


def edges(values: Ints | Floats) -> list[int]:
    """Return where values that are equal begin, and where the last ones end."""
    return [0, *((values[1:] != values[:-1]).nonzero()[0] + 1).tolist(), len(values)]


def slices(rows: Ints) -> Ints | slice:
    """Return rows as a slice where each follows the one before."""
    first, count = int(rows[0]), len(rows)
    if int(rows[-1]) - first != count - 1 or np.count_nonzero(rows[1:] - rows[:-1] != 1):
        return rows
    return slice(first, first + count)


def same(one: Ints, other: Ints) -> bool:
    """Tell whether two rows of numbers are the same."""
    return len(one) == len(other) and not np.count_nonzero(one != other)
