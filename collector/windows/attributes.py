"""The attributes of series as columns over attribute sets: rank, process, device, source.

A pair is classified once, a set by whole arrays.
"""

from collections.abc import Mapping

import numpy as np

from ...detectors.window import Ints
from ...formats.otlp.attribute_sets import AttributeSets, GrowingIntegers
from ...vocabulary import metrics as vocabulary
from ...vocabulary.samples import CLAIMED, Attributes, Scalar

SOURCES = ("probe", "log", "flight_recorder", "ras", "inspector", "exporter")
"""In order: the first of these that reports a series wins."""

COUNTERS = ("collective.enqueued", "collective.started", "collective.completed")
"""Sequence numbers: gauges to the sender, and as large as counters; when one last moved matters."""

MOST_RANKS = 10_000_000
"""A rank beyond it is a sender's mistake, and would fill the memory."""

NO, UNKNOWN = -1, -2
"""No such attribute; one that names nothing."""

_FLAG = {"quality", "source"}

_IGNORED = {
    "container.pid", "gpu", "quality", "hw.vendor", "cgroup",
    "local_rank", "world_size", "framework", "dp", "tp", "pp", "ep",
}  # fmt: skip
"""Where a series belongs or how it was measured, not what it measures."""

_RANK, _PID, _DEVICE, _GROUP, _SOURCE, _STARTED, _CLAIMED, _REST = range(1, 9)


def rank_of(pairs: Mapping[str, Scalar]) -> int | None:
    """Return the rank that is named, as a number or in digits; None for anything else."""
    rank = whole(pairs.get("rank"))
    return rank if rank is not None and 0 <= rank < MOST_RANKS else None


def whole(value: Scalar | None) -> int | None:
    """Return a whole number, also one in digits; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def plane_name(name: str, metric: vocabulary.ContractMetric, pairs: Mapping[str, Scalar]) -> str:
    """Return the plane of a per-step series: the metric, and its closed attribute if it has one."""
    for key in metric.values:
        if key not in _FLAG and (value := pairs.get(key)) is not None:
            return f"{name}|{value}"
    return name


def variant(name: str, rest: Attributes) -> str:
    """Return the plane of a periodic series: the metric, and what distinguishes its series.

    `hw.gpu.throttle|thermal_hw`, `hw.frequency|sm`, `system.filesystem.utilization|/scratch`; a
    dataloader worker's series get `|dataloader`, a trainer's nothing.
    """
    return "|".join([name, *(str(value) for _, value in rest)])


def counts(metric: vocabulary.ContractMetric) -> bool:
    """Return whether a metric's values are differences to what its row began with."""
    return metric.kind == "counter" or metric.name in COUNTERS


class AttributeColumns:
    """Columns over the sets of a table, [sets] each; `update` before reading those of new sets.

    rank; pid; device (number of the pair that names it); group (the same); rest (number into
    `rests`: the attributes that tell what is measured); source (place in the order of sources).
    started (when the process began, seconds since the epoch); claimed (1: nobody could check that
    it is the sender's to report, else 0). NO where there is none.
    """

    def __init__(self, sets: AttributeSets) -> None:
        self._sets = sets
        self.rests: list[Attributes] = []
        self.rank = np.zeros(0, np.int32)
        self.pid = np.zeros(0, np.int64)
        self.device = np.zeros(0, np.int32)
        self.group = np.zeros(0, np.int32)
        self.rest = np.zeros(0, np.int32)
        self.source = np.zeros(0, np.int8)
        self.started = np.zeros(0, np.int64)
        self.claimed = np.zeros(0, np.int8)
        self._count = 0
        self._kinds = GrowingIntegers(np.int8)
        self._values = GrowingIntegers(np.int64)
        self._rest_numbers: dict[tuple[int, ...], int] = {}

    @property
    def pairs(self) -> list[tuple[str, Scalar]]:
        """Return the pairs by number."""
        return self._sets.pairs

    @property
    def nbytes(self) -> int:
        """Return how many bytes the columns take."""
        columns = (
            self.rank,
            self.pid,
            self.device,
            self.group,
            self.rest,
            self.source,
            self.started,
            self.claimed,
        )
        return sum(int(column.nbytes) for column in columns)

    def update(self) -> None:
        """Read the sets that were added since."""
        first, last = self._count, len(self._sets)
        if first == last:
            return
        for name, value in self._sets.pairs[len(self._kinds) :]:
            kind, number = _classified(name, value)
            self._kinds.append(kind)
            self._values.append(number)
        members, sizes = self._sets.members(np.arange(first, last))
        pairs = members.astype(np.int64)
        sets = np.repeat(np.arange(first, last), sizes)
        kinds, values = self._kinds.held[pairs], self._values.held[pairs]
        self._grow(last)
        for kind, column, shown in (
            (_RANK, self.rank, values),
            (_PID, self.pid, values),
            (_DEVICE, self.device, np.where(values < 0, UNKNOWN, pairs)),
            (_GROUP, self.group, pairs),
            (_SOURCE, self.source, values),
            (_STARTED, self.started, values),
            (_CLAIMED, self.claimed, values),
        ):
            here = (kinds == kind).nonzero()[0]
            if len(here):
                column[sets[here]] = shown[here]
        rest = kinds == _REST
        if rest.any():
            self._number_rests(first, last, sets[rest], pairs[rest])
        else:
            self.rest[first:last] = self._rest(())
        self._count = last

    def _number_rests(self, first: int, last: int, sets: Ints, pairs: Ints) -> None:
        counts = np.bincount(sets - first, minlength=last - first)
        ends = np.cumsum(counts)
        for size in np.unique(counts).tolist():
            here = np.flatnonzero(counts == size)
            if not size:
                self.rest[first + here] = self._rest(())
                continue
            members = np.sort(pairs[(ends[here] - size)[:, None] + np.arange(size)], axis=1)
            kinds, which = np.unique(members, axis=0, return_inverse=True)
            numbers = np.array([self._rest(tuple(row)) for row in kinds.tolist()], np.int32)
            self.rest[first + here] = numbers[which.ravel()]

    def _rest(self, pairs: tuple[int, ...]) -> int:
        found = self._rest_numbers.get(pairs)
        if found is None:
            found = self._rest_numbers[pairs] = len(self.rests)
            self.rests.append(tuple(sorted(self._sets.pairs[pair] for pair in pairs)))
        return found

    def _grow(self, count: int) -> None:
        if count <= len(self.rank):
            return
        size = max(2 * len(self.rank), count, 1024)
        for name in ("rank", "pid", "device", "group", "rest", "source", "started", "claimed"):
            old = getattr(self, name)
            new = np.full(size, 0 if name in ("source", "claimed") else NO, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)


def _classified(name: str, value: Scalar) -> tuple[int, int]:
    match name:
        case "rank":
            rank = rank_of({name: value})
            return (_RANK, NO if rank is None else rank)
        case "pid":
            number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62
            return (_PID, int(value) if number else UNKNOWN)
        case "hw.id":
            return (_DEVICE, 0 if isinstance(value, str) and value else UNKNOWN)
        case "group" if isinstance(value, str):
            return (_GROUP, 0)
        case "source":
            return (_SOURCE, SOURCES.index(str(value)) if value in SOURCES else len(SOURCES))
        case "process.start_time":
            started = whole(value)
            return (_STARTED, NO if started is None or not 0 <= started < 2**62 else started)
    if (name, value) in CLAIMED.items():
        return (_CLAIMED, 1)
    if name in _IGNORED or (name == "role" and value == "trainer"):
        return (0, 0)
    return (_REST, 0)
