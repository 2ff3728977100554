"""From placed points to the matrices that they belong to, written when somebody next reads them."""

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints
from ...formats.otlp.columns import SeriesTable
from . import pending, restarts
from .attempts import AttemptRegister
from .pending import PendingPoints
from .placing import SeriesPlacer
from .steps import StepGrid

LIVE = ("training.progress.age", "training.rank.info")
"""Reported by a process that lives, steps or not."""


class PointWriter:
    """Holds points of placed series until `flush`; what that shows of restarts it acts on."""

    def __init__(
        self, placing: SeriesPlacer, attempts: AttemptRegister, table: SeriesTable
    ) -> None:
        self._placing = placing
        self._attempts = attempts
        self._table = table
        self._pending = PendingPoints()

    def add(self, series: NDArray[np.int32], at: Floats, value: Floats, now: float) -> None:
        """Hold points, all [points], received at `now`; what would mix with them is written."""
        if not self._pending.takes(series, self._placing.count):
            self.flush()
        self._pending.add((series, at, value, now))

    def flush(self) -> None:
        if not self._pending:
            return
        series, at, value, part, now = pending.joined(self._pending.take())
        placing = self._placing
        targets = placing.target[series]
        planes, rows = placing.plane[series].astype(np.int64), placing.row[series].astype(np.int64)
        for number in distinct(targets):
            target = placing.targets[number] if number >= 0 else None
            if target is None:
                continue
            mine = (targets == number).nonzero()[0]
            points = planes[mine], rows[mine], at[mine], value[mine], part[mine]
            if isinstance(target, StepGrid):
                target.append_parts(*points, now[mine])
            else:
                target.append(*points)
                if number % 4 == 1 and number > 4:
                    self._live(number // 4 - 1, *points[:2], now[mine])
        for number in distinct(placing.attempt[series]):
            if restarts.possible(self._attempts, number):
                attempt = self._attempts.numbered[number]
                assert attempt is not None  # noqa: S101  it may begin anew
                restarts.by_steps(self._attempts, placing, self._table, attempt)

    def _live(self, number: int, planes: Ints, rows: Ints, now: Floats) -> None:
        """Note which ranks' processes live; all [points]."""
        attempt = self._attempts.numbered[number]
        if attempt is None:
            return
        numbers = attempt.readings.numbers
        live = [plane for name in LIVE if (plane := numbers.get(name)) is not None]
        for plane in live:
            mine = planes == plane
            attempt.grid.last_received[rows[mine]] = now[mine]


def distinct(values: NDArray[np.int32]) -> list[int]:
    """Return the distinct values, ascending; quick where there is one, as there mostly is."""
    if not len(values):
        return []
    first = values[0]
    if np.count_nonzero(values == first) == len(values):
        return [int(first)]
    # Series of a host are numbered together, so these come in few runs.
    runs = (values[1:] != values[:-1]).nonzero()[0]
    return sorted({int(first), *values[runs + 1].tolist()})
