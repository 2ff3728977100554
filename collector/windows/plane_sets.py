"""Planes over the same rows: who may write a row, and batches that hold readings of several."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints
from .planes import MetricPlane

FEW_PARTS = 4
"""Fewer batches than these cost less one after the other than together."""


class PlaneSet:
    """Planes over the same rows. `version` moves when a plane gets a row."""

    def __init__(self) -> None:
        self.planes: list[MetricPlane] = []
        self.numbers: dict[str, int] = {}
        self.rows = 0
        self.version = 0

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
        held = plane.writer[rows[may]]
        plane.writer[rows[may]] = series[may]
        plane.source[rows[may]] = sources[may]
        # Two new ones for one row: the last stays.
        lost = may.copy()
        lost[may] = plane.writer[rows[may]] != series[may]
        return may & ~lost, held[held >= 0]

    def append(
        self, planes: Ints, rows: Ints, at: Floats, value: Floats, part: Ints | None = None
    ) -> None:
        """Write readings of some batches, all [points], as if one batch came after the other.

        part: the number of the batch, ascending; None where there is one.
        """
        if part is not None and part[0] != part[-1]:
            begins = np.flatnonzero(part[1:] != part[:-1]) + 1
            if len(begins) >= FEW_PARTS:
                self._append_parts(planes, rows, at, value, part)
                return
            for begin, end in pairwise([0, *begins.tolist(), len(planes)]):
                here = slice(begin, end)
                self.append(planes[here], rows[here], at[here], value[here])
            return
        if (planes[1:] < planes[:-1]).any():
            # 16 bits make it a radix sort.
            order = np.argsort(planes.astype(np.int16), kind="stable")
            planes, rows, at, value = planes[order], rows[order], at[order], value[order]
        edges = _edges(planes)
        # What a host reads, it reads at one time.
        one = float(at[0])
        if bool((at == one).all()):
            self._append_one_time(edges, planes, rows, one, value)
            return
        for begin, end in pairwise(edges):
            plane, here = self.planes[planes[begin]], slice(begin, end)
            plane.write(rows[here], at[here], value[here])

    def _append_one_time(
        self, edges: list[int], planes: Ints, rows: Ints, at: float, value: Floats
    ) -> None:
        """Write readings of one time, by plane; `edges`: where each plane's readings begin."""
        # Rows of a host mostly follow one another: then no step grows by anything but one.
        jumps = np.zeros(len(rows), np.int64)
        np.cumsum(rows[1:] - rows[:-1] != 1, out=jumps[1:])
        begins, ends = edges[:-1], np.array(edges[1:])
        follow = (jumps[begins] == jumps[ends - 1]).tolist()
        firsts, held = rows[begins].tolist(), planes[begins].tolist()
        alone = value[begins].tolist()
        for begin, end, number, first, slices, one in zip(
            begins, edges[1:], held, firsts, follow, alone, strict=True
        ):
            if end - begin == 1:
                self.planes[number].write_one(first, at, one)
                continue
            here = slice(first, first + end - begin) if slices else rows[begin:end]
            self.planes[number].write_at(here, at, value[begin:end])

    def _append_parts(
        self, planes: Ints, rows: Ints, at: Floats, value: Floats, part: Ints
    ) -> None:
        """Write readings of many batches, together where that makes no difference."""
        if (planes[1:] < planes[:-1]).any():
            order = np.argsort(planes.astype(np.int16), kind="stable")
            planes, rows, at, value = planes[order], rows[order], at[order], value[order]
            part = part[order]
        for begin, end in pairwise(_edges(planes)):
            here = slice(begin, end)
            plane = self.planes[planes[begin]]
            plane.write_parts(rows[here], at[here], value[here], part[here])

    def clear(self, rows: Ints) -> None:
        """Empty rows that others will use."""
        for plane in self.planes:
            plane.clear(rows)
        self.version += 1


def _edges(planes: Ints) -> list[int]:
    """Return where the readings of each plane begin, and where the last ones end."""
    return [0, *(np.flatnonzero(planes[1:] != planes[:-1]) + 1).tolist(), len(planes)]
