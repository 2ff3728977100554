"""Planes over the same rows: who may write a row, and batches that hold readings of several."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints
from .planes import Plane


class PlaneSet:
    """Planes over the same rows. `version` moves when a plane gets a row."""

    def __init__(self) -> None:
        self.planes: list[Plane] = []
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
            self.planes.append(Plane(name, counter=counter, tracked=tracked))
        return found

    def claim(
        self, number: int, rows: Ints, sources: NDArray[np.int8], series: NDArray[np.int32]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
        """Return ([points] may this series write its row, the series that must stop).

        The first source in the contract's order wins, whichever was received first; of equal
        sources the newest, as a process that took another's place.
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
        part = np.zeros(len(planes), np.int64) if part is None else part
        if (planes[1:] < planes[:-1]).any():
            # 16 bits make it a radix sort.
            order = np.argsort(planes.astype(np.int16), kind="stable")
            planes, rows, at, value = planes[order], rows[order], at[order], value[order]
            part = part[order]
        edges = [0, *(np.flatnonzero(planes[1:] != planes[:-1]) + 1).tolist(), len(planes)]
        single = bool(part[0] == part[-1] and (part == part[0]).all())
        # What a host reads, it reads at one time.
        one = float(at[0])
        if single and bool((at == one).all()):
            for begin, end in pairwise(edges):
                self.planes[planes[begin]].write_at(rows[begin:end], one, value[begin:end])
            return
        for begin, end in pairwise(edges):
            here, plane = slice(begin, end), self.planes[planes[begin]]
            if single:
                plane.write(rows[here], at[here], value[here])
            else:
                plane.write_parts(rows[here], at[here], value[here], part[here])

    def clear(self, rows: Ints) -> None:
        """Empty rows that others will use."""
        for plane in self.planes:
            plane.clear(rows)
        self.version += 1
