"""Readings of planes by the ranks or hosts of a job, gathered when somebody asks for them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...detectors.window import PERIOD_ROWS, Floats, Ints, Processes, Readings
from .planes import NOBODY, Plane


@dataclass(frozen=True, slots=True)
class Part:
    """One plane and its row for each row of the window, -1 where it has none.

    `whole`: the first rows of the plane are those of the window.
    """

    plane: Plane
    rows: Ints
    whole: bool = False


@dataclass(frozen=True, slots=True)
class JoinedProcesses:
    """Processes of a job's hosts and their planes by metric; arrays as in detectors.window."""

    host: Ints
    pid: Ints
    row: Ints
    hw_ids: tuple[str | None, ...]
    parts: Mapping[str, tuple[Part, ...]]

    def view(self, until: float | None) -> Processes:
        """Return them as detectors see them."""
        readings = LazyReadings(self.parts, until)
        return Processes(self.host, self.pid, self.row, self.hw_ids, readings)


@dataclass(frozen=True, slots=True)
class Joined:
    """The planes of a job by metric, [ranks] and [hosts], and the versions it holds for."""

    versions: tuple[int, ...]
    by_rank: Mapping[str, tuple[Part, ...]]
    by_host: Mapping[str, tuple[Part, ...]]
    processes: JoinedProcesses


class PlaneReadings(Readings):
    """Readings over one plane, or over several of which each row has its own."""

    def __init__(self, parts: tuple[Part, ...], until: float) -> None:
        super().__init__(*(np.zeros((0, 0)),) * 2)
        self._parts = parts if len(parts) == 1 else _chosen(parts)
        self._until = until
        self._all: tuple[Floats, Floats] | None = None
        self._period: float | None = None

    @property
    def at(self) -> Floats:
        """Return [rows, readings], the times of all readings."""
        return self._whole()[0]

    @property
    def value(self) -> Floats:
        """Return [rows, readings], the values of all readings."""
        return self._whole()[1]

    def between(self, start: float, end: float) -> Readings:
        """Return the readings in [start, end]."""
        return Readings(*self._read(start, min(end, self._until)))

    def of(self, rows: Ints) -> Readings:
        """Return the readings of some rows."""
        return PlaneReadings(
            tuple(Part(part.plane, part.rows[rows]) for part in self._parts), self._until
        )

    def latest(self) -> tuple[Floats, Floats]:
        """Return (value, at), each [rows], of the newest reading of every row."""
        if self._until < np.inf:
            return Readings(*self._whole()).latest()
        at = np.full(len(self._parts[0].rows), np.nan)
        value = at.copy()
        for part in self._parts:
            here = np.flatnonzero(part.rows >= 0)
            rows = part.rows[here]
            at[here], value[here] = part.plane.last_at[rows], part.plane.last_value[rows]
        valid = np.isfinite(at)
        return np.where(valid, value, np.nan), np.where(valid, at, np.nan)

    def newest_at(self) -> float:
        """Return the time of the newest reading of all, -inf where there is none."""
        if self._until < np.inf:
            return Readings(*self._whole()).newest_at()
        newest = -np.inf
        for part in self._parts:
            if part.whole:
                last = part.plane.last_at[: len(part.rows)]
                newest = max(newest, float(last.max(initial=-np.inf)))
                continue
            rows = part.rows[part.rows >= 0]
            newest = max(newest, float(np.max(part.plane.last_at[rows], initial=-np.inf)))
        return newest

    def highest(self) -> Floats:
        """Return [rows], the highest value of all readings; -inf where there is none."""
        if self._until < np.inf:
            return Readings(*self._whole()).highest()
        high = np.full(len(self._parts[0].rows), -np.inf)
        for part in self._parts:
            here = np.flatnonzero(part.rows >= 0)
            high[here] = np.fmax(high[here], part.plane.highest(part.rows[here]))
        return high

    def period(self) -> float:
        """Return the usual time between the readings of a row, seconds; 5 where nobody can tell."""
        if self._period is None:
            interval = max(part.plane.interval for part in self._parts)
            start = self.newest_at() - 20 * interval
            # Of the rows alone that are looked at: at a hundred thousand ranks all are many.
            count = len(self._parts[0].rows)
            some: Readings = self
            if count > PERIOD_ROWS:
                some = self.of(np.linspace(0, count - 1, PERIOD_ROWS).astype(np.int64))
            self._period = some.between(start, np.inf).period()
        return self._period

    def history(self) -> Readings:
        """Return the thinned tier: means over a quarter of an hour, the newest twelve hours."""
        parts = []
        for part in self._parts:
            at, value = part.plane.history(np.maximum(part.rows, 0))
            value = np.where(part.rows[:, None] >= 0, value, np.nan)
            parts.append(Readings(np.where(np.isnan(value), np.nan, at), value))
        if len(parts) == 1:
            return parts[0]
        at = np.concatenate([part.at for part in parts], axis=1)
        return Readings(at, np.concatenate([part.value for part in parts], axis=1))

    def _whole(self) -> tuple[Floats, Floats]:
        if self._all is None:
            self._all = self._read(-np.inf, self._until)
        return self._all

    def _read(self, start: float, end: float) -> tuple[Floats, Floats]:
        found = []
        for part in self._parts:
            if part.whole:
                found.append(part.plane.read(slice(0, len(part.rows)), start, end))
                continue
            at, value = part.plane.read(np.maximum(part.rows, 0), start, end)
            known = (part.rows >= 0)[:, None]
            found.append((np.where(known, at, np.nan), np.where(known, value, np.nan)))
        if len(found) == 1:
            return found[0]
        return (
            np.concatenate([at for at, _ in found], axis=1),
            np.concatenate([value for _, value in found], axis=1),
        )


class LazyReadings(Mapping[str, Readings]):
    """Readings by metric, made when somebody asks for them, once a window."""

    def __init__(self, parts: Mapping[str, tuple[Part, ...]], until: float | None) -> None:
        self._parts = parts
        self._until = np.inf if until is None else until
        self._made: dict[str, Readings] = {}

    def __getitem__(self, name: str) -> Readings:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = PlaneReadings(self._parts[name], self._until)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def _chosen(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Leave each row to one part: that of the better source, then that of the newest reading."""
    count = len(parts[0].rows)
    best = np.full(count, -1)
    source, at = np.full(count, NOBODY + 1), np.full(count, -np.inf)
    for number, part in enumerate(parts):
        here = np.flatnonzero(part.rows >= 0)
        rows = part.rows[here]
        mine, newest = part.plane.source[rows].astype(np.int64), part.plane.last_at[rows]
        better = (newest > -np.inf) & (
            (mine < source[here]) | ((mine == source[here]) & (newest > at[here]))
        )
        won = here[better]
        best[won], source[won], at[won] = number, mine[better], newest[better]
    return (
        tuple(
            Part(part.plane, np.where(best == number, part.rows, -1))
            for number, part in enumerate(parts)
            if (best == number).any()
        )
        or parts[:1]
    )
