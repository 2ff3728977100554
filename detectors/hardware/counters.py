"""By how much cumulative counters grew lately, and when: only rows that grew cost anything."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..readings import variants as names_of
from ..window import Floats, Ints, PeriodicReadings
from . import devices

MOST = 1e15
"""A larger value is a sender's way to say that there is none (blank sentinels of vendors)."""

ROUNDING = 1.0
"""Seconds by which the time of a reading that is held may differ from that of its report."""

PEERS = 10.0
"""A row is unlike its peers where it grows so many times as fast as their median."""


@dataclass(frozen=True, slots=True)
class CounterGrowth:
    """Counters that grew within the newest seconds.

    rows: those that did. total: [rows], by how much. seconds: [rows], time between their first and
    last reading there. first, last: [rows, 2], the readings between which they first and last grew.
    """

    rows: Ints
    total: Floats
    seconds: Floats
    first: Floats
    last: Floats


def variants(
    held: Mapping[str, PeriodicReadings], metric: str
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (attribute values, name) of every plane of a metric, in the order of the names."""
    for name in names_of(held, metric):
        yield tuple(name.split("|")[1:]), name


def growth(readings: PeriodicReadings, seconds: float) -> CounterGrowth:
    """Return what grew within the newest `seconds`, counted from the newest reading of all.

    A counter that went backwards began again: what it shows then is growth only as far as it goes
    on growing.
    """
    moved = readings.moved_at()
    if moved == -np.inf:
        return _nothing()  # as mostly: a counter of errors that never counted any
    newest = readings.newest_at()
    if newest == -np.inf or moved < newest - seconds - ROUNDING:
        return _nothing()
    found = readings.between(newest - seconds, np.inf)
    valid = (found.at >= newest - seconds) & (np.abs(found.value) < MOST)
    high = np.max(np.where(valid, found.value, -np.inf), axis=1, initial=-np.inf)
    low = np.min(np.where(valid, found.value, np.inf), axis=1, initial=np.inf)
    rows = np.flatnonzero((high > low) & (high > 0))
    if not len(rows):
        return _nothing()
    at = np.where(valid[rows], found.at[rows], np.inf)
    order = np.argsort(at, axis=1, kind="stable")
    at = np.take_along_axis(at, order, axis=1)
    value = np.take_along_axis(np.where(valid, found.value, 0.0)[rows], order, axis=1)
    both = np.isfinite(at[:, 1:])
    grown = np.where(both, np.maximum(np.diff(value, axis=1), 0.0), 0.0)
    total = grown.sum(axis=1)
    some = total > 0
    at, grown, rows = at[some], grown[some], rows[some]
    if not len(rows):
        return _nothing()
    number = np.arange(len(rows))
    first = np.argmax(grown > 0, axis=1)
    last = grown.shape[1] - 1 - np.argmax(grown[:, ::-1] > 0, axis=1)
    ends = np.max(np.where(np.isfinite(at), at, -np.inf), axis=1)
    return CounterGrowth(
        rows,
        total[some],
        ends - at[:, 0],
        np.stack((at[number, first], at[number, first + 1]), axis=1),
        np.stack((at[number, last], at[number, last + 1]), axis=1),
    )


@dataclass(frozen=True, slots=True)
class FastCounter:
    """A counter that grows faster than it should, and than those of its peers.

    rate: by how much, in the unit of time that was asked for; usual: the median of all other rows.
    onset: the readings between which it first grew.
    """

    row: int
    rate: float
    usual: float
    onset: tuple[float, float]


def fast(
    found: CounterGrowth, rows: int, *, per: float, shortest: float, least: float
) -> Iterator[FastCounter]:
    """Yield what grew by `least` in `per` seconds and ten times as fast as the other `rows` do.

    shortest: the time, in seconds, that growth is spread over at least: that of one reading is no
    rate.
    """
    rate = np.zeros(rows)
    rate[found.rows] = found.total * per / np.maximum(found.seconds, shortest)
    others = np.nan_to_num(devices.median_of_others(rate))
    for number, row in enumerate(found.rows.tolist()):
        usual = float(others[row])
        if rate[row] >= max(least, PEERS * usual):
            first, last = found.first[number].tolist()
            yield FastCounter(row, float(rate[row]), usual, (first, last))


def _nothing() -> CounterGrowth:
    none = np.zeros(0)
    return CounterGrowth(np.zeros(0, np.int64), none, none, np.zeros((0, 2)), np.zeros((0, 2)))
