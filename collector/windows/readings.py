"""Readings of planes by the ranks or hosts of a job, gathered when somebody asks for them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...detectors.arrays import Flags, Floats, Ints
from ...detectors.readings import PERIOD_ROWS, NamedReadings, Readings
from ...detectors.window import Processes
from .planes import NOBODY, Plane

KEPT_ROWS = 512
"""Readings of so many rows at most are kept between windows: of more, memory is worth more."""

_NONE: Floats = np.zeros((0, 0))


@dataclass(frozen=True, slots=True)
class Part:
    """One plane and its row for each row of the window, -1 where it has none.

    held: the rows as they are read, a slice where they follow one another, 0 where there is none.
    missing: [rows], where there is none; None where that is nowhere.
    """

    plane: Plane
    rows: Ints
    held: Ints | slice = field(init=False)
    missing: Flags | None = field(init=False)

    def __post_init__(self) -> None:
        """Find out once how the rows are read."""
        rows, lacking = self.rows, self.rows < 0
        held: Ints | slice = rows
        missing: Flags | None = None
        if lacking.any():
            held, missing = np.maximum(rows, 0), lacking
        elif len(rows) and (rows[1:] - rows[:-1] == 1).all():
            held = slice(int(rows[0]), int(rows[0]) + len(rows))
        object.__setattr__(self, "held", held)
        object.__setattr__(self, "missing", missing)


@dataclass(frozen=True, slots=True)
class Choice:
    """Each row left to one part: that of the better source, then that of the newest reading.

    watched: planes of which rows were not chosen. While nothing is written to these, and no row
    gets another source, no choice changes: those that were chosen only become newer.
    """

    parts: tuple[Part, ...]
    claims: tuple[tuple[Plane, int], ...]
    watched: tuple[tuple[Plane, int], ...]

    @classmethod
    def of(cls, parts: tuple[Part, ...]) -> "Choice":
        """Choose among parts over the same rows."""
        if len(parts) == 1:
            return Choice(parts, (), ())
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
        chosen = tuple(
            Part(part.plane, np.where(best == number, part.rows, -1))
            for number, part in enumerate(parts)
            if (best == number).any()
        )
        return cls(
            chosen or parts[:1],
            tuple((part.plane, part.plane.claims) for part in parts),
            tuple(
                (part.plane, part.plane.version)
                for number, part in enumerate(parts)
                if ((part.rows >= 0) & (best != number)).any()
            ),
        )

    def holds(self) -> bool:
        """Tell whether it would be the same now."""
        return all(plane.claims == claims for plane, claims in self.claims) and all(
            plane.version == version for plane, version in self.watched
        )


class PartsByName:
    """The planes of a window by metric, and the readings made of them that still hold.

    Readings of few rows are kept from one window to the next while nothing was written to their
    planes: most seconds bring reports of some hosts only. What is kept is in no snapshot.
    """

    def __init__(self, parts: Mapping[str, tuple[Part, ...]]) -> None:
        self.parts = parts
        self.names: dict[str, tuple[str, ...]] = {}
        """By metric: the names of its planes, one for each variant."""
        for name in sorted(parts):
            metric = name.partition("|")[0]
            self.names[metric] = (*self.names.get(metric, ()), name)
        self.metrics = frozenset(self.names)
        self._made: dict[str, tuple[int, PlaneReadings]] = {}
        self._chosen: dict[str, Choice] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what a snapshot keeps."""
        return {**vars(self), "_made": {}, "_chosen": {}}

    def newest(self, name: str) -> "PlaneReadings":
        """Return the readings of a name as its planes are now."""
        parts = self.parts[name]
        version = parts[0].plane.version
        for part in parts[1:]:
            version += part.plane.version
        made = self._made.get(name)
        if made is not None and made[0] == version:
            return made[1]
        if len(parts) > 1:
            choice = self._chosen.get(name)
            if choice is None or not choice.holds():
                choice = self._chosen[name] = Choice.of(parts)
            parts = choice.parts
        found = PlaneReadings(parts, np.inf)
        if len(self.parts[name][0].rows) <= KEPT_ROWS:
            self._made[name] = (version, found)
        return found


@dataclass(frozen=True, slots=True)
class JoinedProcesses:
    """Processes of a job's hosts and their planes by metric; arrays as in detectors.window."""

    host: Ints
    pid: Ints
    row: Ints
    hw_ids: tuple[str | None, ...]
    parts: PartsByName

    def view(self, until: float | None) -> Processes:
        """Return them as detectors see them."""
        readings = LazyReadings(self.parts, until)
        return Processes(self.host, self.pid, self.row, self.hw_ids, readings)


@dataclass(frozen=True, slots=True)
class Joined:
    """The planes of a job by metric, [ranks] and [hosts], and the versions it holds for."""

    versions: tuple[int, ...]
    by_rank: PartsByName
    by_host: PartsByName
    processes: JoinedProcesses


class PlaneReadings(Readings):
    """Readings over one plane, or over several of which each row has its own.

    What is asked of them is computed once: several detectors ask for the same.
    """

    def __init__(self, parts: tuple[Part, ...], until: float) -> None:
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

    def between(self, start: float, end: float) -> Readings:
        """Return the readings in [start, end]."""
        return Readings(*self._read(start, min(end, self._until)))

    def of(self, rows: Ints) -> Readings:
        """Return the readings of some rows."""
        parts = tuple(Part(part.plane, part.rows[rows]) for part in self._parts)
        if len(parts) > 1:
            parts = tuple(part for part in parts if (part.rows >= 0).any()) or parts[:1]
        return PlaneReadings(parts, self._until)

    def latest(self) -> tuple[Floats, Floats]:
        """Return (value, at), each [rows], of the newest reading of each row; not to be changed."""
        if self._latest is None:
            found = self._newest() if self._until == np.inf else Readings(*self._whole()).latest()
            for array in found:
                array.flags.writeable = False
            self._latest = found
        return self._latest

    def newest_at(self) -> float:
        """Return the time of the newest reading of all, -inf where there is none."""
        if self._until < np.inf:
            return Readings(*self._whole()).newest_at()
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
            return Readings(*self._whole()).highest()
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


class LazyReadings(NamedReadings):
    """Readings by metric, made when somebody asks for them, once a window."""

    def __init__(self, parts: PartsByName, until: float | None) -> None:
        self._parts = parts
        self._until = until
        self._made: dict[str, Readings] = {}

    def __getitem__(self, name: str) -> Readings:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = (
                self._parts.newest(name)
                if self._until is None
                else PlaneReadings(Choice.of(self._parts.parts[name]).parts, self._until)
            )
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """Return the readings of a metric, `default` where there are none."""
        return self[name] if name in self._parts.parts else default

    def __contains__(self, name: object) -> bool:
        return name in self._parts.parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts.parts)

    def __len__(self) -> int:
        return len(self._parts.parts)

    def variants(self, metric: str) -> tuple[str, ...]:
        """Return the names of a metric and its variants, sorted."""
        base, variant, _ = metric.partition("|")
        names = self._parts.names.get(base, ())
        if not variant:
            return names
        begins = f"{metric}|"
        return tuple(name for name in names if name == metric or name.startswith(begins))

    @property
    def metrics(self) -> frozenset[str]:
        """Return the metrics that there are, without their variants."""
        return self._parts.metrics
