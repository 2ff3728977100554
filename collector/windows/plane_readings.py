"""Readings of one metric over planes, computed when somebody asks for them."""

import numpy as np

from ...detectors.arrays import Floats, Ints
from ...detectors.readings import PERIOD_ROWS, PeriodicReadings
from .parts import PlanePart

_NONE: Floats = np.zeros((0, 0))


class PlaneReadings(PeriodicReadings):
    """Readings over one plane, or over several of which each row has its own.

    What is asked of them is computed once: several detectors ask for the same.
    """

    def __init__(self, parts: tuple[PlanePart, ...], until: float) -> None:
        super().__init__(_NONE, _NONE)
        self._parts = parts
        self._until = until
        self._all: tuple[Floats, Floats] | None = None
        self._period: float | None = None
        self._newest_at: float | None = None
        self._latest: tuple[Floats, Floats] | None = None
        self._levels: dict[tuple[bool, float, float], Floats] = {}

    @property
    def at(self) -> Floats:
        """Return [rows, readings], the times of all readings."""
        return self._whole()[0]

    @property
    def value(self) -> Floats:
        """Return [rows, readings], the values of all readings."""
        return self._whole()[1]

    def between(self, start: float, end: float) -> PeriodicReadings:
        """Return the readings in [start, end]."""
        return PeriodicReadings(*self._read(start, min(end, self._until)))

    def of(self, rows: Ints) -> PeriodicReadings:
        parts = tuple(PlanePart(part.plane, part.rows[rows]) for part in self._parts)
        if len(parts) > 1:
            parts = tuple(part for part in parts if (part.rows >= 0).any()) or parts[:1]
        return PlaneReadings(parts, self._until)

    def latest(self) -> tuple[Floats, Floats]:
        """Return (value, at), each [rows], of the newest reading of each row; not to be changed."""
        if self._latest is None:
            found = (
                self._newest()
                if self._until == np.inf
                else PeriodicReadings(*self._whole()).latest()
            )
            for array in found:
                array.flags.writeable = False
            self._latest = found
        return self._latest

    def newest_at(self) -> float:
        """Return the time of the newest reading of all, -inf where there is none."""
        if self._until < np.inf:
            return PeriodicReadings(*self._whole()).newest_at()
        if self._newest_at is None:
            newest = -np.inf
            for part in self._parts:
                held = part.rows[~part.missing] if part.missing is not None else part.held
                last = part.plane.last_at[held]
                newest = max(newest, float(last.max(initial=-np.inf)))
            self._newest_at = newest
        return self._newest_at

    def moved_at(self) -> float:
        """Return a time after which no row's value changed, inf where nobody can tell."""
        if any(part.plane.base is None for part in self._parts):
            return np.inf
        return max(part.plane.moved_at for part in self._parts)

    def highest(self) -> Floats:
        """Return [rows], the highest value of all readings; -inf where there is none."""
        if self._until < np.inf:
            return PeriodicReadings(*self._whole()).highest()
        high = np.full(len(self._parts[0].rows), -np.inf)
        for part in self._parts:
            here = np.flatnonzero(part.rows >= 0)
            high[here] = np.fmax(high[here], part.plane.highest(part.rows[here]))
        return high

    def mean(self, start: float, end: float) -> Floats:
        """Return [rows], the mean of the readings in (start, end]; not to be changed."""
        found = self._levels.get((False, start, end))
        return self._kept((False, start, end), super().mean(start, end)) if found is None else found

    def rate(self, start: float, end: float) -> Floats:
        """Return [rows], the growth per second of a counter; not to be changed."""
        found = self._levels.get((True, start, end))
        return self._kept((True, start, end), super().rate(start, end)) if found is None else found

    def period(self) -> float:
        """Return the usual time between the readings of a row, seconds; 5 where nobody can tell."""
        if self._period is None:
            interval = max(part.plane.interval for part in self._parts)
            start = self.newest_at() - 20 * interval
            count, one = len(self._parts[0].rows), self._parts[0]
            if len(self._parts) > 1 or one.missing is not None or self._until < np.inf:
                # Of the rows alone that are looked at: at a hundred thousand ranks all are many.
                some: PeriodicReadings = self
                if count > PERIOD_ROWS:
                    some = self.of(np.linspace(0, count - 1, PERIOD_ROWS).astype(np.int64))
                self._period = some.between(start, np.inf).period()
            else:
                held = one.held
                if count > PERIOD_ROWS:
                    held = one.rows[np.linspace(0, count - 1, PERIOD_ROWS).astype(np.int64)]
                # Of times alone, which planes of one report share.
                self._period = one.plane.period(held, start)
        return self._period

    def history(self) -> PeriodicReadings:
        """Return the thinned tier: means over a quarter of an hour, the newest twelve hours."""
        parts = []
        for part in self._parts:
            at, value = part.plane.history(np.maximum(part.rows, 0))
            value = np.where(part.rows[:, None] >= 0, value, np.nan)
            parts.append(PeriodicReadings(np.where(np.isnan(value), np.nan, at), value))
        if len(parts) == 1:
            return parts[0]
        at = np.concatenate([part.at for part in parts], axis=1)
        return PeriodicReadings(at, np.concatenate([part.value for part in parts], axis=1))

    def _newest(self) -> tuple[Floats, Floats]:
        if len(self._parts) == 1 and self._parts[0].missing is None:
            part = self._parts[0]
            at, value = part.plane.last_at[part.held], part.plane.last_value[part.held]
        else:
            at = np.full(len(self._parts[0].rows), np.nan)
            value = at.copy()
            for part in self._parts:
                here = np.flatnonzero(part.rows >= 0)
                rows = part.rows[here]
                at[here], value[here] = part.plane.last_at[rows], part.plane.last_value[rows]
        valid = np.isfinite(at)
        return np.where(valid, value, np.nan), np.where(valid, at, np.nan)

    def _kept(self, key: tuple[bool, float, float], found: Floats) -> Floats:
        found.flags.writeable = False
        self._levels[key] = found
        return found

    def _whole(self) -> tuple[Floats, Floats]:
        if self._all is None:
            self._all = self._read(-np.inf, self._until)
        return self._all

    def _read(self, start: float, end: float) -> tuple[Floats, Floats]:
        found = []
        for part in self._parts:
            at, value = part.plane.read(part.held, start, end)
            if part.missing is not None:
                at = np.where(part.missing[:, None], np.nan, at)
                value[part.missing] = np.nan
            found.append((at, value))
        if len(found) == 1:
            return found[0]
        return (
            np.concatenate([at for at, _ in found], axis=1),
            np.concatenate([value for _, value in found], axis=1),
        )
