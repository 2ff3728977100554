"""Readings of planes by the ranks or hosts of a job, gathered when somebody asks for them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...detectors.arrays import Ints
from ...detectors.readings import NamedReadings, PeriodicReadings
from ...detectors.window import ProcessReadings
from .parts import PlanePart, RowChoice
from .plane_readings import PlaneReadings

KEPT_ROWS = 512
"""Readings of so many rows at most are kept between windows: of more, memory is worth more."""


class PartsByName:
    """The planes of a window by metric, and the readings made of them that still hold.

    Readings of few rows are kept from one window to the next while nothing was written to their
    planes: most seconds bring reports of some hosts only. What is kept is in no snapshot.
    """

    def __init__(self, parts: Mapping[str, tuple[PlanePart, ...]]) -> None:
        self.parts = parts
        self.names: dict[str, tuple[str, ...]] = {}
        """By metric: the names of its planes, one for each variant."""
        for name in sorted(parts):
            metric = name.partition("|")[0]
            self.names[metric] = (*self.names.get(metric, ()), name)
        self.metrics = frozenset(self.names)
        self._made: dict[str, tuple[int, PlaneReadings]] = {}
        self._chosen: dict[str, RowChoice] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what a snapshot keeps."""
        return {**vars(self), "_made": {}, "_chosen": {}}

    def newest(self, name: str) -> PlaneReadings:
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
                choice = self._chosen[name] = RowChoice.of(parts)
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

    def view(self, until: float | None) -> ProcessReadings:
        """Return them as detectors see them."""
        readings = LazyReadings(self.parts, until)
        return ProcessReadings(self.host, self.pid, self.row, self.hw_ids, readings)


@dataclass(frozen=True, slots=True)
class JoinedPlanes:
    """The planes of a job by metric, [ranks] and [hosts], and the versions it holds for."""

    versions: tuple[int, ...]
    by_rank: PartsByName
    by_host: PartsByName
    processes: JoinedProcesses


class LazyReadings(NamedReadings):
    """Readings by metric, made when somebody asks for them, once a window."""

    def __init__(self, parts: PartsByName, until: float | None) -> None:
        self._parts = parts
        self._until = until
        self._made: dict[str, PeriodicReadings] = {}

    def __getitem__(self, name: str) -> PeriodicReadings:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = (
                self._parts.newest(name)
                if self._until is None
                else PlaneReadings(RowChoice.of(self._parts.parts[name]).parts, self._until)
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
