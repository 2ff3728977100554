"""Planes over the same rows: who may write a row, and batches that hold readings of several."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints
from .planes import MetricPlane
from .slot_times import SlotMoments
from .write_orders import KeptOrders, WriteOrder

FEW_PARTS = 4
"""Fewer batches than these cost less one after the other than together."""

_NONE: Ints = np.zeros(0, np.int64)


class PlaneSet:
    """Planes over the same rows. `version` moves when a plane gets a row."""

    def __init__(self) -> None:
        self.planes: list[MetricPlane] = []
        self.numbers: dict[str, int] = {}
        self.rows = 0
        self.version = 0
        self.orders = KeptOrders(WriteOrder)

    @property
    def nbytes(self) -> int:
        """Return how many bytes the planes take."""
        return sum(plane.nbytes for plane in self.planes)

    def plane(self, name: str, *, counter: bool, tracked: bool = False) -> int:
        """Return the number of a plane, adding it when it is new."""
        found = self.numbers.get(name)
        if found is None:
            found = self.numbers[name] = len(self.planes)
            self.planes.append(MetricPlane(name, counter=counter, tracked=tracked))
        return found

    def claim(
        self, number: int, rows: Ints, sources: NDArray[np.int8], series: NDArray[np.int32]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
        """Return ([points] may this series write its row, the series that must stop).

        The first source in the order of `attributes.SOURCES` wins, whichever was received first;
        of equal sources the newest, as a process that took another's place.
        """
        plane = self.planes[number]
        self.rows = max(self.rows, int(rows.max()) + 1)
        plane.fit(self.rows)
        plane.version += 1
        plane.claims += 1
        self.version += 1
        may = sources <= plane.source[rows]
        mine = slice(None) if np.count_nonzero(may) == len(may) else may
        claimed = rows[mine]
        held = plane.writer[claimed]
        plane.writer[claimed], plane.source[claimed] = series[mine], sources[mine]
        # Two new ones for one row: the last stays.
        may[mine] = plane.writer[claimed] == series[mine]
        return may, held[held >= 0]

    def append(
        self, planes: Ints, rows: Ints, at: Floats, value: Floats, part: Ints | None = None
    ) -> None:
        """Write readings of some batches, all [points], as if one batch came after the other.

        part: the number of the batch, ascending; None where there is one.
        """
        begins = _NONE
        if part is not None and part[0] != part[-1]:
            begins = (part[1:] != part[:-1]).nonzero()[0] + 1
            if len(begins) < FEW_PARTS:
                for begin, end in pairwise([0, *begins.tolist(), len(planes)]):
                    here = slice(begin, end)
                    self.append(planes[here], rows[here], at[here], value[here])
                return
        order = self.orders.of(planes, rows, begins, self.rows)
        if order.order is not None:
            at, value = at[order.order], value[order.order]
            part = None if part is None else part[order.order]
        # What a host reads, it reads at one time, and hosts mostly report the same whole second.
        one = at.item(0)
        if np.count_nonzero(at == one) == len(at):
            self._append_one_time(order, one, value)
            return
        for number, begin, end, _, _, _ in order.writes:
            plane, here = self.planes[number], slice(begin, end)
            if part is None:
                plane.write(order.rows[here], at[here], value[here])
            else:
                plane.write_parts(order.rows[here], at[here], value[here], part[here])

    def _append_one_time(self, order: WriteOrder, at: float, value: Floats) -> None:
        """Write readings of one time, in the order by planes."""
        moments, planes = SlotMoments(at), self.planes
        for number, begin, end, first, rows, parts in order.writes:
            plane = planes[number]
            if end - begin == 1:
                plane.write_one(first, at, value.item(begin), moments)
                continue
            values = value[begin:end]
            if len(parts) == 2:
                plane.write_at(rows, at, values, moments)
            elif not plane.write_at_once(rows, order.rows[parts[:-1]], at, values, moments):
                for one, other in pairwise(parts):
                    here = slice(one, other)
                    plane.write(order.rows[here], np.full(other - one, at), value[here])

    def clear(self, rows: Ints) -> None:
        """Empty rows that others will use."""
        for plane in self.planes:
            plane.clear(rows)
        self.version += 1
