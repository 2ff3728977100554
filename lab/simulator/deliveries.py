"""What a host sends at one time: points of its series, as parts of lines or as columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...formats.otlp.columns import SKIP, PointColumns, SeriesTable
from .events import TimedEvent
from .lines import Part
from .series import SimulatedSeries

Array = NDArray[np.float64]

_UNSEEN = np.int32(np.iinfo(np.int32).min)
"""In place of the number of a series of which nothing has arrived yet."""


@dataclass(frozen=True, slots=True)
class SeriesPoints:
    """Points of many series: which series, which of its points, when, and how much."""

    row: NDArray[np.int64]
    point: NDArray[np.int64]
    at: Array
    value: Array

    @classmethod
    def of(cls, rows: Sequence[SimulatedSeries]) -> "SeriesPoints":
        """Return all points of these series, one series after the other."""
        lengths = [len(row.at) for row in rows]
        return cls(
            np.repeat(np.arange(len(rows)), lengths),
            np.concatenate([np.arange(length) for length in lengths]),
            np.concatenate([row.at for row in rows]),
            np.concatenate([row.value for row in rows]),
        )

    def taken(self, which: NDArray[np.int64] | slice) -> "SeriesPoints":
        """Return some of them."""
        return SeriesPoints(self.row[which], self.point[which], self.at[which], self.value[which])


@dataclass(frozen=True, slots=True)
class MetricPush:
    """One delivery of metrics: points of the host's series, a series after the other."""

    rows: Sequence[SimulatedSeries]
    points: SeriesPoints

    @property
    def parts(self) -> list[Part]:
        """Return which points of which series these are."""
        row, point = self.points.row, self.points.point
        begins = np.flatnonzero(np.diff(row, prepend=-1))
        ends = np.append(begins[1:], len(row)) - 1
        pieces = zip(
            row[begins].tolist(), point[begins].tolist(), point[ends].tolist(), strict=True
        )
        return [(self.rows[number], first, last + 1) for number, first, last in pieces]

    def columns(
        self, table: SeriesTable, ids: dict[int, NDArray[np.int32]], dates: Callable[[Array], Array]
    ) -> PointColumns:
        """Return the samples as columns; `ids` remembers the numbers of a host's series here.

        A series enters the table with its first sample, as it does from lines: those of a later
        attempt must not announce it. `dates` gives what the host's clock says at true times.
        """
        known = ids.setdefault(id(self.rows), np.full(len(self.rows), _UNSEEN))
        # As they arrive: a table that holds a later attempt's series has begun that attempt.
        new = self.points.row[known[self.points.row] == _UNSEEN]
        if len(new):
            new = np.unique(new)
            known[new] = _numbers(table, [self.rows[row] for row in new.tolist()])
        return PointColumns(known[self.points.row], dates(self.points.at), self.points.value)


def _numbers(table: SeriesTable, rows: Sequence[SimulatedSeries]) -> NDArray[np.int32]:
    """Return the table's numbers of these series, all at once."""
    metrics = [table.metric(row.metric) for row in rows]
    found: NDArray[np.int32] = table.intern_many(
        np.array([table.resource(row.resource) for row in rows], np.int64),
        np.array(metrics, np.int64),
        np.array([table.attributes.number(row.attributes) for row in rows], np.int64),
    )
    found[[not table.kept(metric) for metric in metrics]] = SKIP
    return found


@dataclass(frozen=True, slots=True)
class HostDelivery:
    """Something that arrives: a push of metrics, or an event."""

    at: float
    host: int
    push: MetricPush | None
    saying: TimedEvent | None
