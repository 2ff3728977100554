"""What a detector sees of one job attempt: whole matrices, ranks down, steps or readings across.

Missing values are NaN everywhere. Times are seconds since the epoch, already freed of the offsets
of host clocks. The collector fills these; a test can fill them by hand in a few lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..vocabulary.entities import Entity
from ..vocabulary.entities import gpu as gpu_entity
from ..vocabulary.entities import rank as rank_entity
from ..vocabulary.ids import Job
from ..vocabulary.samples import Event
from ..vocabulary.topology import Placement, Topology
from . import own_time
from .baselines import Baselines
from .features import Kept, StepFeatures

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

PERIOD_ROWS = 256
"""So many rows tell how often a metric is reported."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Per-step values on the ruler of step indices.

    index: [steps], ascending. at: [ranks, steps], the end of each step. planes: by metric name,
    or `metric|variant` where the contract has a closed attribute (`training.loss|local`). ends:
    [steps], when each ended on the last of its ranks, and kept, where the collector has computed
    them.
    """

    index: Ints
    at: Floats
    planes: Mapping[str, Floats] = field(default_factory=dict)
    ends: Floats | None = None
    kept: Kept | None = None

    def plane(self, name: str) -> Floats:
        """Return [ranks, steps] of one plane; all NaN when nobody reports it."""
        found = self.planes.get(name)
        return np.full(self.at.shape, np.nan) if found is None else found

    def has(self, name: str) -> bool:
        """Tell whether anybody reports this plane."""
        plane = self.planes.get(name)
        if plane is None:
            return False
        return bool(np.isfinite(plane[:, -4:]).any() or np.isfinite(plane).any())

    def last(self, count: int) -> "Steps":
        """Return the newest `count` steps."""
        if count >= len(self.index):
            return self
        return self.cut(len(self.index) - max(count, 0), len(self.index))

    def cut(self, first: int, last: int) -> "Steps":
        """Return the steps of the columns [first, last)."""
        return Steps(
            self.index[first:last],
            self.at[:, first:last],
            {name: plane[:, first:last] for name, plane in self.planes.items()},
            None if self.ends is None else self.ends[first:last],
            None if self.kept is None else self.kept.cut(first, last),
        )


class Readings:
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

    def between(self, start: float, end: float) -> "Readings":
        """Return readings that hold all those in [start, end], and perhaps others."""
        del start, end
        return self

    def of(self, rows: Ints) -> "Readings":
        """Return the readings of some rows."""
        return Readings(self.at[rows], self.value[rows])

    def newest(self, seconds: float) -> "Readings":
        """Return the readings of the newest `seconds`, counted from the newest of all rows."""
        return self.between(self.newest_at() - seconds, np.inf)

    def newest_at(self) -> float:
        """Return the time of the newest reading of all, -inf where there is none."""
        if not self.at.size:
            return -np.inf
        return float(np.max(self.at, initial=-np.inf, where=~np.isnan(self.at)))

    def history(self) -> "Readings":
        """Return the thinned past: means over longer times, oldest first."""
        empty = np.full((len(self.at), 0), np.nan)
        return Readings(empty, empty)

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
        return own_time.middle(gaps) if len(gaps) else 5.0


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes that are reported by themselves: dataloader workers, and contexts on devices.

    All [processes]. host: index into the window's hosts. pid: as the host sees it. row: the rank
    that it is or works for, -1 for one of nobody's. hw_ids: the device that its memory is on, None
    for a process without one; a process with memory on two devices has two rows.
    """

    host: Ints
    pid: Ints
    row: Ints
    hw_ids: tuple[str | None, ...]
    readings: Mapping[str, Readings] = field(default_factory=dict)

    def of(self, metric: str) -> Readings:
        """Return a periodic metric with one row a process (`process.memory.private|dataloader`)."""
        return self.readings.get(metric) or _nothing(len(self.pid))


def no_processes() -> Processes:
    """Return that none is reported."""
    nobody = np.zeros(0, np.int64)
    return Processes(nobody, nobody, nobody, ())


@dataclass(frozen=True, slots=True)
class Group:
    """A communication group as its members last reported: sequence numbers, [members] each.

    rows: rows of the members in the window's matrices. changed_at: when a number last moved.
    launches: by kind of collective, how many each member has launched, where that is reported.
    absent: rows of the members that never reported a number.
    """

    name: str
    kind: str
    rows: Ints
    enqueued: Floats
    completed: Floats
    at: Floats
    changed_at: Floats
    launches: Mapping[str, Floats] = field(default_factory=dict)
    absent: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class JobWindow:
    """One job attempt at one moment.

    ranks: [rows] global rank of each row. host_of: [rows] index into hosts, -1 where unknown.
    last_received: [rows] when the rank's own process last reported; host_last_received,
    host_interval: [hosts] when a host last reported and how often it does (both by the clock that
    `now` comes from). attempt_started_at: when its processes started, else its first data; -inf
    where unknown. attempt_reported_at: its first data here, -inf where unknown: of what was before,
    such as steps, nothing is held. host_announced: [hosts] the agent announced its own shutdown,
    empty where nobody can tell. host_returned: [hosts] when a host reported again after a silence
    of several intervals, -inf where it never was silent; empty where nobody can tell.
    newest_world_size: the one that a rank reported last, 0 where none did; a job that was resized
    has held more ranks.
    placed: the topology, where the collector has made it.
    """

    job: Job
    attempt: int
    cluster: str | None
    now: float
    ranks: Ints
    hosts: tuple[str, ...]
    host_of: Ints
    world_size: int
    steps: Steps
    role_of: Ints
    hw_ids: tuple[str | None, ...]
    pids: Ints
    last_received: Floats
    host_last_received: Floats
    host_interval: Floats
    rank_readings: Mapping[str, Readings]
    host_readings: Mapping[str, Readings]
    groups: Sequence[Group] = ()
    events: Sequence[Event] = ()
    clock_skew: float = 0.0
    attempt_started_at: float = float("-inf")
    attempt_reported_at: float = float("-inf")
    host_announced: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    host_returned: Floats = field(default_factory=lambda: np.zeros(0))
    collective_timeout_seconds: float = 600.0
    newest_world_size: int = 0
    placed: Topology | None = None
    held_baselines: Baselines | None = None
    processes: Processes = field(default_factory=no_processes)

    @cached_property
    def features(self) -> StepFeatures:
        """Return what detectors compute of the steps, shared by all of them."""
        return StepFeatures(self)

    @cached_property
    def baselines(self) -> Baselines:
        """Return what is usual for this attempt; learnt of this window where nothing is held."""
        if self.held_baselines is not None:
            return self.held_baselines
        made = Baselines()
        made.record(self.features)
        made.learn(self.features)
        return made

    @cached_property
    def topology(self) -> Topology:
        """Return what runs where; made of the arrays where the collector gave none."""
        if self.placed is not None:
            return self.placed
        return Topology(
            self.job,
            attempt=self.attempt,
            cluster=self.cluster,
            world_size=self.world_size,
            hosts=self.hosts,
            placements=[
                Placement(
                    int(rank),
                    self.host_name(row) or "",
                    pid=int(self.pids[row]) if self.pids[row] >= 0 else None,
                    hw_id=self.hw_ids[row],
                )
                for row, rank in enumerate(self.ranks)
            ],
        )

    @property
    def entity(self) -> Entity:
        """Return the job."""
        return self.topology.job_entity

    def rank_entity(self, row: int) -> Entity:
        """Return the rank of a row, with its host where known."""
        return rank_entity(int(self.ranks[row]), self.host_name(row))

    def host_name(self, row: int) -> str | None:
        """Return the host of a row, None where unknown."""
        index = int(self.host_of[row])
        return self.hosts[index] if index >= 0 else None

    def host_entity(self, index: int) -> Entity:
        """Return a host with the ranks of this job that run on it."""
        return self.topology.host_entity(self.hosts[index])

    def gpu_entity(self, row: int) -> Entity | None:
        """Return the device of a row, None where unknown."""
        hw_id = self.hw_ids[row]
        rank = (int(self.ranks[row]),)
        return gpu_entity(hw_id, self.host_name(row), rank) if hw_id else None

    def of_ranks(self, metric: str) -> Readings:
        """Return a periodic metric with one row a rank."""
        if metric not in self.rank_readings:
            return _nothing(len(self.ranks))
        return self.rank_readings[metric]

    def of_hosts(self, metric: str) -> Readings:
        """Return a periodic metric with one row a host."""
        if metric not in self.host_readings:
            return _nothing(len(self.hosts))
        return self.host_readings[metric]

    def row_of(self, rank: int) -> int | None:
        """Return the row of a global rank, None where the window has none."""
        return self.topology.row(rank)

    def row_of_event(self, event: Event) -> int | None:
        """Return the row of the rank that an event names, None where there is none."""
        rank = event.attributes.get("rank")
        return self.row_of(rank) if isinstance(rank, int) else None

    def host_of_rank(self, rank: int) -> int:
        """Return the index of a global rank's host, -1 where it is unknown."""
        row = self.row_of(rank)
        return -1 if row is None else int(self.host_of[row])


@lru_cache(maxsize=64)
def _nothing(rows: int) -> Readings:
    """Return readings of a metric that nobody reports: the same for every detector that asks."""
    empty = np.full((rows, 0), np.nan)
    empty.flags.writeable = False
    return Readings(empty, empty)
