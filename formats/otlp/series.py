"""The register of series: which resource, metric and attributes a number stands for, in arrays."""

import sys
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...vocabulary.samples import Attributes, TelemetryResource
from .attribute_sets import AttributeSets, GrowingIntegers
from .numbering import NONE, KeyNumbers, distinct
from .text_bounds import BOUNDS, TextBounds, resource_bytes

FULL = -1
"""The series id of a point for which the table has no room."""

SKIP = -2
"""The series id of a point that is accepted and not kept: nothing is recorded, or nobody looks."""

_OUTSIDE = "outside"
"""The key of the resource that stands for those for which there is no room; no series is its."""

_METRIC_BITS, _SET_BITS, _RESOURCE_BITS = 15, 28, 20  # 63 together: the key of a series

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """One series: its sender, its metric, and the attributes of its points, sorted by name."""

    resource: TelemetryResource
    metric: str
    attributes: Attributes


_RESOURCE_BYTES = 800
"""Measured: the objects of a resource beside its texts."""


class SeriesTable:
    """A register of series; ids are dense integers from 0 in order of appearance.

    Bounded: past `capacity` series new ones get FULL (counted in `refused`), and known ones live
    on. Metrics in `unkept` get SKIP: where an attribute counts up, as a sequence number does, each
    point is a new series. Ids that were released are given out again after the next release.

    One thread adds series; another may read those it was given, and release them.
    """

    def __init__(
        self,
        capacity: int = 6_000_000,
        *,
        unkept: frozenset[str] = frozenset(),
        bounds: TextBounds = BOUNDS,
    ) -> None:
        """`bounds`: of names; of longer ones a beginning and a digest stand for them."""
        self.capacity = capacity
        self._unkept = unkept
        self.bounds = bounds
        self.attributes = AttributeSets(bounds)
        self.resources: list[TelemetryResource] = []
        self.metrics: list[str] = []
        self.resource_of = np.zeros(1024, np.int32)
        self.metric_of = np.zeros(1024, np.int16)
        self.attributes_of = np.zeros(1024, np.int32)
        self.released_at = np.zeros(1024, np.int32)
        self.releases = 0
        self.refused = 0
        self._shortened = 0
        self._resource_numbers: dict[Any, int] = {}
        self._metric_numbers: dict[str, int] = {}
        self._unkept_metrics: set[int] = set()
        self._ids = KeyNumbers()
        self._count = 0
        self._free: list[int] = []
        self._resting: Ids = np.zeros(0, np.int32)
        self._to_release: list[Ids] = []

    def __len__(self) -> int:
        """Return how many ids were ever given out: the end of the arrays."""
        return self._count

    def __getitem__(self, series: int) -> SeriesKey:
        return SeriesKey(
            self.resources[self.resource_of[series]],
            self.metrics[self.metric_of[series]],
            self.attributes[int(self.attributes_of[series])],
        )

    @property
    def shortened(self) -> int:
        """Return how many names were longer than they may be."""
        return self._shortened + self.attributes.shortened

    @property
    def full(self) -> bool:
        """Return whether new series are refused."""
        return self.attributes.full or (self._count >= self.capacity and not self._free)

    def alike(self) -> "SeriesTable":
        """Return an empty table that keeps the same."""
        return SeriesTable(self.capacity, unkept=self._unkept, bounds=self.bounds)

    def bound_texts(self, bounds: TextBounds) -> None:
        """Have other bounds from now on; names that are held stay as they are."""
        self.bounds = self.attributes.bounds = bounds

    @property
    def live(self) -> int:
        """Return how many series are registered now."""
        return self._count - len(self._free) - len(self._resting)

    @property
    def nbytes(self) -> int:
        """Return about how many bytes it takes."""
        arrays = (self.resource_of, self.metric_of, self.attributes_of, self.released_at)
        names = _RESOURCE_BYTES * len(self.resources)
        return sum(one.nbytes for one in arrays) + self._ids.nbytes + self.attributes.nbytes + names

    def resource(self, resource: TelemetryResource) -> int:
        """Return the number of a resource, a new one if needed."""
        key = _identity(resource)
        number = self._resource_numbers.get(key)
        if number is None:
            within = self.bounds.resource(resource)
            if within is not resource:
                self._shortened += 1
                return self.resource(within)
            if self.attributes.full:
                key, resource = _OUTSIDE, TelemetryResource("")
                if key in self._resource_numbers:
                    return self._resource_numbers[key]
            number = self._resource_numbers[key] = len(self.resources)
            self.resources.append(resource)
            self.attributes.text_bytes += _RESOURCE_BYTES + resource_bytes(resource)
        return number

    def metric(self, name: str) -> int:
        """Return the number of a metric, a new one if needed."""
        number = self._metric_numbers.get(name)
        if number is None:
            within, name = name, self.bounds.name(name)
            self._shortened += within != name
            number = self._metric_numbers.get(name)
        if number is None:
            number = self._metric_numbers[sys.intern(name)] = len(self.metrics)
            self.metrics.append(sys.intern(name))
            if name in self._unkept:
                self._unkept_metrics.add(number)
        return number

    def kept(self, metric: int) -> bool:
        return metric not in self._unkept_metrics

    def intern(self, resource: TelemetryResource, metric: str, attributes: Attributes) -> int:
        """Return the id of a series, a new one if needed, or FULL or SKIP."""
        number = self.metric(metric)
        if not self.kept(number):
            return SKIP
        numbers = self.resource(resource), number, self.attributes.number(attributes)
        key = self._key(*numbers)
        if key is None:
            return FULL
        self._release_now()
        series = self._ids.get(key)
        return series if series >= 0 else self._registered(key, *numbers)

    def _registered(self, key: int, resource: int, metric: int, attributes: int) -> int:
        """Register one series: by arrays, as many are, one alone takes ten times as long."""
        fresh = self._fresh(1)
        if not len(fresh):
            self.refused += 1
            return FULL
        series = int(fresh[0])
        self.resource_of[series], self.metric_of[series] = resource, metric
        self.attributes_of[series] = attributes
        self._ids.put(key, series)
        self._count = max(self._count, series + 1)
        return series

    def intern_many(
        self,
        resources: NDArray[np.int64],
        metrics: NDArray[np.int64],
        attributes: NDArray[np.int64],
    ) -> Ids:
        """Return the ids of series given by their numbers, all [points]; new ones are registered.

        Negative attributes are SKIP and stay so.
        """
        self._release_now()
        keys = (resources << (_METRIC_BITS + _SET_BITS)) | (metrics << _SET_BITS) | attributes
        ids = self._ids.get_many(keys)
        bad = attributes < 0
        if self._crowded:
            bad |= (attributes >> _SET_BITS > 0) | (metrics >> _METRIC_BITS > 0)
            bad |= resources >> _RESOURCE_BITS > 0
        some = np.count_nonzero(bad)
        if some:
            ids[bad] = FULL
        missing = ((ids < 0) & ~bad if some else ids < 0).nonzero()[0]
        if len(missing):
            firsts, which = distinct(keys[missing])
            fresh = self._added(keys, resources, metrics, attributes, missing[firsts])
            if len(fresh) < len(firsts):
                self.refused += len(firsts) - len(fresh)
                fresh = np.append(fresh, np.full(len(firsts) - len(fresh), FULL, np.int32))
            ids[missing] = fresh[which]
        if some:
            ids[attributes < 0] = SKIP
        return ids

    def _added(
        self,
        keys: NDArray[np.int64],
        resources: NDArray[np.int64],
        metrics: NDArray[np.int64],
        attributes: NDArray[np.int64],
        which: NDArray[np.int64],
    ) -> Ids:
        """Register those of [points] that are new; return their ids, fewer where it is full."""
        fresh = self._fresh(len(which))
        which = which[: len(fresh)]
        self.resource_of[fresh] = resources[which]
        self.metric_of[fresh] = metrics[which]
        self.attributes_of[fresh] = attributes[which]
        self._ids.put_many(keys[which], fresh)
        if len(fresh):
            self._count = max(self._count, int(fresh[-1]) + 1)
        return fresh

    @property
    def _crowded(self) -> bool:
        """Tell whether there may be numbers that no key has the bits for."""
        sets, metrics, resources = len(self.attributes), len(self.metrics), len(self.resources)
        return bool(sets >> _SET_BITS or metrics >> _METRIC_BITS or resources >> _RESOURCE_BITS)

    def release(self, series: Ids) -> None:
        """Forget series that nobody reports any more; callable from another thread."""
        if len(series):
            self._to_release.append(np.asarray(series, np.int32))

    def _release_now(self) -> None:
        if not self._to_release:
            return
        gone = np.unique(np.concatenate([self._to_release.pop() for _ in list(self._to_release)]))
        # Batches decoded before still carry the ids; none of them waits for two releases.
        self._free.extend(self._resting.tolist())
        self.releases += 1
        self.released_at[gone] = self.releases
        self._resting = gone
        kept = np.ones(self._count, bool)
        kept[gone] = False
        kept[self._free] = False
        ids = np.flatnonzero(kept)
        keys = self.resource_of[ids].astype(np.int64) << (_METRIC_BITS + _SET_BITS)
        keys |= self.metric_of[ids].astype(np.int64) << _SET_BITS
        keys |= self.attributes_of[ids]
        self._ids = KeyNumbers(2 * len(ids))
        self._ids.put_many(keys, ids.astype(np.int32))

    def _fresh(self, count: int) -> Ids:
        """Return up to `count` ids that are free, fewer where the table is full."""
        if self.attributes.full:
            return np.zeros(0, np.int32)
        again = min(count, len(self._free))
        reused = [self._free.pop() for _ in range(again)]
        more = max(0, min(count - again, self.capacity - self._count))
        while self._count + more > len(self.resource_of):
            self.metric_of = _doubled(self.metric_of)
            self.attributes_of = _doubled(self.attributes_of)
            self.released_at = _doubled(self.released_at)
            self.resource_of = _doubled(self.resource_of)
        added = np.arange(self._count, self._count + more, dtype=np.int32)
        return np.concatenate((np.array(reused, np.int32), added)) if reused else added

    def _key(self, resource: int, metric: int, attributes: int) -> int | None:
        if resource >> _RESOURCE_BITS or metric >> _METRIC_BITS or attributes >> _SET_BITS:
            return None
        return (resource << (_METRIC_BITS + _SET_BITS)) | (metric << _SET_BITS) | attributes


class IdTranslation:
    """The series of one table in the ids of another, which gets them when they are first asked for.

    Whole arrays at once; nothing is remembered of single series, only of what they are made of:
    of each resource, metric, pair and set which number of the target it has. Whoever asks holds the
    source: nothing here keeps it.
    """

    def __init__(self, source: SeriesTable, target: SeriesTable) -> None:
        self._source: SeriesTable = weakref.proxy(source)
        self._target = target
        self._resources = GrowingIntegers(np.int64)
        self._metrics = GrowingIntegers(np.int64)
        self._pairs = GrowingIntegers(np.int32)
        self._sets: NDArray[np.int32] = np.zeros(0, np.int32)
        """NONE where nobody has asked for a set."""

    def ids(self, series: Ids) -> Ids:
        """Return the target's ids of the source's series, FULL and SKIP included."""
        source, target = self._source, self._target
        for resource in source.resources[len(self._resources) :]:
            self._resources.append(target.resource(resource))
        for metric in source.metrics[len(self._metrics) :]:
            self._metrics.append(target.metric(metric))
        return target.intern_many(
            self._resources.held[source.resource_of[series]],
            self._metrics.held[source.metric_of[series]],
            self._sets_of(source.attributes_of[series]),
        )

    def _sets_of(self, sets: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the target's numbers of sets of attributes."""
        source, target = self._source.attributes, self._target.attributes
        if len(source) > len(self._sets):
            more = np.full(len(source), NONE, np.int32)
            self._sets = np.concatenate((self._sets, more))
        numbers = self._sets[sets]
        missing = sets[numbers == NONE].astype(np.int64)
        if len(missing):
            for name, value in source.pairs[len(self._pairs) :]:
                self._pairs.append(target.pair(name, value))
            new = missing[distinct(missing)[0]]
            members, sizes = source.members(new)
            self._sets[new] = target.numbers_of(self._pairs.held[members], sizes)
            numbers = self._sets[sets]
        return numbers.astype(np.int64)


def _doubled(old: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate((old, np.zeros_like(old)))


def _identity(resource: TelemetryResource) -> Any:
    """Return what distinguishes resources where == does not: True from 1, NaN equal to itself."""
    if all(type(value) is str or type(value) is int for _, value in resource.extra):
        return resource
    extra = tuple((name, type(value).__name__, repr(value)) for name, value in resource.extra)
    named = (resource.host, resource.job, resource.attempt, resource.cluster, resource.service)
    return (*named, extra)
