"""Periodic values of many rows, and what detectors ask of them: means, rates, the newest."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from . import medians
from .arrays import Floats, Ints

PERIOD_ROWS = 256
"""So many rows tell how often a metric is reported."""


class PeriodicReadings:
    """Periodic values: neither aligned over rows nor sorted within one, NaN where there is none.

    at, value: [rows, readings]. Rows are ranks or hosts, as the asker chose. Ask for the newest
    ones where these are enough: at a hundred thousand ranks the whole is large.
    """

    def __init__(self, at: Floats, value: Floats) -> None:
        self._at = at
        self._value = value

    def __repr__(self) -> str:
        """Return all of it, as arrays write themselves."""
        return f"Readings(at={self.at!r}, value={self.value!r})"

    @property
    def at(self) -> Floats:
        """Return [rows, readings], the times of all readings."""
        return self._at

    @property
    def value(self) -> Floats:
        """Return [rows, readings], the values of all readings."""
        return self._value

    def between(self, start: float, end: float) -> "PeriodicReadings":
        """Return readings that hold all those in [start, end], and perhaps others."""
        del start, end
        return self

    def of(self, rows: Ints) -> "PeriodicReadings":
        return PeriodicReadings(self.at[rows], self.value[rows])

    def newest(self, seconds: float) -> "PeriodicReadings":
        """Return the readings of the newest `seconds`, counted from the newest of all rows."""
        return self.between(self.newest_at() - seconds, np.inf)

    def newest_at(self) -> float:
        """Return the time of the newest reading of all, -inf where there is none."""
        if not self.at.size:
            return -np.inf
        return float(np.max(self.at, initial=-np.inf, where=~np.isnan(self.at)))

    def moved_at(self) -> float:
        """Return a time after which no row's value changed, inf where nobody can tell."""
        return np.inf

    def history(self) -> "PeriodicReadings":
        """Return the thinned past: means over longer times, oldest first."""
        empty = np.full((len(self.at), 0), np.nan)
        return PeriodicReadings(empty, empty)

    def latest(self) -> tuple[Floats, Floats]:
        """Return (value, at), each [rows], of the newest reading of every row."""
        rows = np.arange(len(self.at))
        if not self.at.shape[1]:
            empty = np.full(len(self.at), np.nan)
            return empty, empty
        newest = np.argmax(np.where(np.isnan(self.at), -np.inf, self.at), axis=1)
        return self.value[rows, newest], self.at[rows, newest]

    def highest(self) -> Floats:
        """Return [rows], the highest value of all readings; -inf where there is none."""
        found: Floats = np.fmax.reduce(self.value, axis=1, initial=-np.inf)
        return found

    def mean(self, start: float, end: float) -> Floats:
        """Return [rows], the mean of the readings in (start, end]; NaN where there is none."""
        found = self.between(start, end)
        if not found.at.size:
            return np.full(len(found.at), np.nan)
        inside = (found.at > start) & (found.at <= end) & np.isfinite(found.value)
        if np.count_nonzero(inside) == inside.size:  # as mostly
            whole: Floats = found.value.sum(axis=1) / inside.shape[1]
            return whole
        count = inside.sum(axis=1)
        total = np.where(inside, found.value, 0.0).sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def rate(self, start: float, end: float) -> Floats:
        """Return [rows], the growth per second of a cumulative counter over [start, end].

        A counter that went backwards began again: only its growth since then counts. NaN where
        fewer than two readings fall inside.
        """
        found = self.between(start, end)
        inside = (found.at >= start) & (found.at <= end) & np.isfinite(found.value)
        if np.count_nonzero(inside) == inside.size and inside.shape[1] > 1:
            # Row by row in memory, as below: sums depend on it in their last digit.
            gaps = np.diff(np.ascontiguousarray(found.at), axis=1)
            growth = np.diff(np.ascontiguousarray(found.value), axis=1)
            if gaps.min() > 0 and growth.min() >= 0:  # as mostly: whole, in order, never reset
                steady: Floats = growth.sum(axis=1) / gaps.sum(axis=1)
                return steady
        at = np.where(inside, found.at, np.inf)
        order = np.argsort(at, axis=1, kind="stable")
        rows = np.arange(len(at))[:, None]
        at, value = at[rows, order], found.value[rows, order]
        valid = np.isfinite(at)
        both = valid[:, 1:] & valid[:, :-1]
        growth = np.where(both, np.diff(np.where(valid, value, 0.0), axis=1), 0.0)
        began_again = growth < 0
        growth = np.where(began_again, np.where(valid, value, 0.0)[:, 1:], growth)
        seconds = np.where(both, np.diff(np.where(valid, at, 0.0), axis=1), 0.0).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(seconds > 0, growth.sum(axis=1) / seconds, np.nan)

    def period(self) -> float:
        """Return the usual time between the readings of a row, seconds; 5 where nobody can tell."""
        at = self.at
        if len(at) > PERIOD_ROWS:
            at = at[np.linspace(0, len(at) - 1, PERIOD_ROWS).astype(np.int64)]
        at = np.sort(at, axis=1)
        gaps = at[:, 1:] - at[:, :-1]
        gaps = gaps[np.isfinite(gaps) & (gaps > 0)]
        return medians.middle(gaps) if len(gaps) else 5.0


class NamedReadings(Mapping[str, PeriodicReadings]):
    """Readings by name that are held with an index of the variants of each metric."""

    @abstractmethod
    def variants(self, metric: str) -> tuple[str, ...]:
        """Return the names of a metric and its variants, sorted."""

    @property
    @abstractmethod
    def metrics(self) -> frozenset[str]:
        """Return the metrics that there are, without their variants."""


def variants(held: Mapping[str, PeriodicReadings], metric: str) -> tuple[str, ...]:
    """Return the names of a metric and its variants, sorted."""
    if isinstance(held, NamedReadings):
        return held.variants(metric)
    begins = f"{metric}|"
    return tuple(sorted(name for name in held if name == metric or name.startswith(begins)))
