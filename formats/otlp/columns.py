"""What decoding gives: points as parallel columns, their series as small integers."""

import sys
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...vocabulary.samples import Attributes, Event, Resource

FULL = -1
"""The series id of a point for which the table has no room."""

SKIP = -2
"""The series id of a point that is accepted and not kept: nothing is recorded, or nobody looks."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series: who speaks, which metric, and the attributes of its points, sorted by name."""

    resource: Resource
    metric: str
    attributes: Attributes


class SeriesTable:
    """An append-only register of series; ids are dense integers from 0 in order of appearance.

    Bounded: past `capacity` series new ones get FULL, and known ones live on. Metrics in `unkept`
    get SKIP: where an attribute counts up, as a sequence number does, each point is a new series.
    """

    def __init__(self, capacity: int = 6_000_000, *, unkept: frozenset[str] = frozenset()) -> None:
        self._capacity = capacity
        self._unkept = unkept
        self._series: list[Series] = []
        self._ids: dict[Any, dict[str, dict[Any, int]]] = {}
        self._shared: dict[Any, Attributes] = {}

    def intern(self, resource: Resource, metric: str, attributes: Attributes) -> int:
        """Return the id of a series, a new one if needed, or FULL or SKIP."""
        if metric in self._unkept:
            return SKIP
        of_resource = self._ids.setdefault(_resource_identity(resource), {})
        of_metric = of_resource.setdefault(sys.intern(metric), {})
        identity = _identity(attributes)
        series = of_metric.get(identity)
        if series is None:
            if len(self._series) >= self._capacity:
                return FULL
            series = len(self._series)
            # A rank's forty metrics carry equal attributes: hold them once.
            identity_is_attributes = identity is attributes
            attributes = self._shared.setdefault(identity, attributes)
            of_metric[attributes if identity_is_attributes else identity] = series
            self._series.append(Series(resource, sys.intern(metric), attributes))
        return series

    def __getitem__(self, series: int) -> Series:
        return self._series[series]

    def __len__(self) -> int:
        return len(self._series)


def _identity(attributes: Attributes) -> Any:
    """Return what tells attributes apart where == does not: True from 1, and NaN equal to itself.

    Texts and integers, nearly always all there is, are told apart by == and stand for themselves.
    """
    if all(type(value) is str or type(value) is int for _, value in attributes):
        return attributes
    return tuple((name, type(value).__name__, repr(value)) for name, value in attributes)


def _resource_identity(resource: Resource) -> Any:
    extra = _identity(resource.extra)
    if extra is resource.extra:
        return resource
    named = (resource.host, resource.job, resource.attempt, resource.cluster, resource.service)
    return (*named, resource.attempt_named, extra)


@dataclass(frozen=True, slots=True)
class Columns:
    """Points in the order of the payload, as three parallel arrays.

    `series` int32 ids of a SeriesTable, `at` float64 seconds since the epoch, `value` float64.
    """

    series: NDArray[np.int32]
    at: NDArray[np.float64]
    value: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.series)


class Laid(Protocol):
    """How the bytes of a request lie, the same for every request of a steady sender."""

    @property
    def digest(self) -> bytes:
        """Return what tells this layout from any other."""
        ...

    def slots(self) -> NDArray[np.int32]:
        """Return the offsets of the 8-byte fields that change: times, values, start times."""
        ...


@dataclass(frozen=True, slots=True)
class MetricsBatch:
    """The points of one request; `rejected` counts those not kept, `reason` says why ("": none).

    `layout` is set where the request lay like an earlier one.
    """

    columns: Columns
    rejected: int = 0
    reason: str = ""
    layout: Laid | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LogsBatch:
    """The events of one request; `rejected` counts records not kept, `reason` says why."""

    events: list[Event] = field(default_factory=list)
    rejected: int = 0
    reason: str = ""


@dataclass(slots=True)
class Rejections:
    """What of a request is not kept, by reason, in order of appearance."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, count: int = 1) -> None:
        """Count points or records turned away; `reason` completes "3 points ..."."""
        if count:
            self.counts[reason] = self.counts.get(reason, 0) + count

    @property
    def total(self) -> int:
        """Return how many were turned away."""
        return sum(self.counts.values())

    def text(self, what: str) -> str:
        """Return the sentence for the sender, `what` being "points" or "records"."""
        counted = sorted(self.counts.items())
        return "; ".join(f"{what} {reason}: {count}" for reason, count in counted)
