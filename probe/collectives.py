"""Collectives that the loop marks itself, with `watch.collective(...)`: counted and timed exactly.

For a trainer without torch.distributed (a socket all-reduce,
another framework) has no Flight Recorder to ask.
"""

import statistics
import time
from collections.abc import Callable
from types import TracebackType

from ..vocabulary.groups import ProcessGroup, world
from ..vocabulary.identity import RankIdentity
from ..vocabulary.samples import Sample, Scalar, attributes
from .groups import GroupInfos
from .timeline import StepTimeline
from .timeline import TimelineSpan as StepPart

_KEPT = 4096
"""Durations kept between two reports; a busier interval is described by its first ones."""


class CollectiveCounts:
    """Counts by group, and what the interval since the last report saw by group and op."""

    def __init__(self, timeline: StepTimeline, identity: Callable[[], RankIdentity]) -> None:
        self.timeline = timeline
        self.enqueued: dict[str, int] = {}
        self.completed: dict[str, int] = {}
        self.interval: dict[tuple[str, str], list[tuple[float, int]]] = {}
        self._identity = identity
        self._infos = GroupInfos()
        self._world: ProcessGroup | None = None

    def span(self, op: str, group: str | None, size_bytes: int) -> "CollectiveSpan":
        """Return a context manager around one collective; `group` None is the group of all."""
        if group is None:
            size = self._identity().world_size
            if self._world is None or len(self._world.ranks) != size:
                self._world = world(size)
            group = self._world.name
        return CollectiveSpan(self, op, group, size_bytes)

    def samples(self, at: float, rank: int) -> list[Sample]:
        """Return the counters, and the interval's figures; begins the next interval."""
        known = () if self._world is None else (self._world,)
        found = self._infos.due(known, at, rank)
        for metric, counts in (
            ("collective.enqueued", self.enqueued),
            ("collective.started", self.enqueued),
            ("collective.completed", self.completed),
        ):
            for group, count in tuple(counts.items()):
                labels = attributes({"rank": rank, "group": group, "source": "probe"})
                found.append(Sample(metric, float(count), at, labels))
        interval, self.interval = self.interval, {}
        for (group, op), seen in interval.items():
            pairs: dict[str, Scalar] = {"rank": rank, "group": group, "op": op, "source": "probe"}
            labels = attributes(pairs)
            seconds = [duration for duration, _size in seen]
            found += [
                Sample("collective.count", float(len(seen)), at, labels),
                Sample("collective.duration", statistics.median(seconds), at, labels),
                Sample("collective.duration.max", max(seconds), at, labels),
            ]
            if size := sum(size for _duration, size in seen):
                found.append(Sample("collective.size", float(size), at, labels))
        return found


class CollectiveSpan:
    """One collective: enqueued on entry, completed on a clean exit."""

    __slots__ = ("_began", "_group", "_of", "_op", "_part", "_size")

    def __init__(self, of: CollectiveCounts, op: str, group: str, size_bytes: int) -> None:
        self._of = of
        self._op = op
        self._group = group
        self._size = size_bytes
        self._began = 0.0
        self._part: StepPart | None = None

    def __enter__(self) -> None:
        enqueued = self._of.enqueued
        enqueued[self._group] = enqueued.get(self._group, 0) + 1
        self._part = StepPart(self._of.timeline.open)
        self._began = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            return
        of = self._of
        seconds = time.perf_counter() - self._began
        of.completed[self._group] = of.completed.get(self._group, 0) + 1
        if self._part is not None:
            of.timeline.waited_for_peers(self._part)
            of.timeline.open.exact = True
        kept = of.interval.setdefault((self._group, self._op), [])
        if len(kept) < _KEPT:
            kept.append((seconds, self._size))
