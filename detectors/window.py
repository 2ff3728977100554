"""What a detector sees of one job attempt: whole matrices, ranks down, steps or readings across.

Missing values are NaN everywhere. Times are seconds since the epoch, already freed of the offsets
of host clocks. The collector fills these; a test can fill them by hand in a few lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from ..vocabulary.entities import Entity
from ..vocabulary.entities import gpu as gpu_entity
from ..vocabulary.entities import rank as rank_entity
from ..vocabulary.ids import Job
from ..vocabulary.samples import Event
from ..vocabulary.topology import JobTopology, RankPlacement
from .arrays import Flags, Floats, Ints
from .baselines import JobBaselines
from .event_searches import EventSearches
from .features import StepFeatures
from .readings import PeriodicReadings
from .steps import StepValues


@dataclass(frozen=True, slots=True)
class ProcessReadings:
    """Processes that are reported by themselves: dataloader workers, and contexts on devices.

    All [processes]. host: index into the window's hosts. pid: as the host sees it. row: the rank
    that it is or works for, -1 for one of nobody's. hw_ids: the device that its memory is on, None
    for a process without one; a process with memory on two devices has two rows.
    """

    host: Ints
    pid: Ints
    row: Ints
    hw_ids: tuple[str | None, ...]
    readings: Mapping[str, PeriodicReadings] = field(default_factory=dict)

    def of(self, metric: str) -> PeriodicReadings:
        """Return a periodic metric with one row a process (`process.memory.private|dataloader`)."""
        return self.readings.get(metric) or _nothing(len(self.pid))


def no_processes() -> ProcessReadings:
    """Return that none is reported."""
    nobody = np.zeros(0, np.int64)
    return ProcessReadings(nobody, nobody, nobody, ())


@dataclass(frozen=True, slots=True)
class GroupProgress:
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
    `now` comes from). host_rarer: [hosts] how often the rarer of its sources reports, which are the
    node's own and the job's; empty where they are not told apart. attempt_started_at: when its
    processes started, else its first data; -inf where unknown. attempt_reported_at: its first data
    here, -inf where unknown: of what was before, such as steps, nothing is held. host_announced:
    [hosts] the agent announced its own shutdown, empty where nobody can tell. host_returned:
    [hosts] when a host reported again after a silence of several intervals, -inf where it never was
    silent; empty where nobody can tell. newest_world_size: the one that a rank reported last, 0
    where none did; a job that was resized has held more ranks. steps_interval: how often steps
    arrive where several arrive at once, as of a log that is written in blocks, s; 0 where each
    arrives soon after its end.
    placed: the topology, where the collector has made it. hw_models: the model of devices, by
    `hw.id`, where they are described. searches: what was found in the texts of `events`.
    claimed_ranks: those that nobody could check, where other ranks of the attempt were.
    """

    job: Job
    attempt: int
    cluster: str | None
    now: float
    ranks: Ints
    hosts: tuple[str, ...]
    host_of: Ints
    world_size: int
    steps: StepValues
    role_of: Ints
    hw_ids: tuple[str | None, ...]
    pids: Ints
    last_received: Floats
    host_last_received: Floats
    host_interval: Floats
    rank_readings: Mapping[str, PeriodicReadings]
    host_readings: Mapping[str, PeriodicReadings]
    groups: Sequence[GroupProgress] = ()
    events: Sequence[Event] = ()
    clock_skew: float = 0.0
    attempt_started_at: float = float("-inf")
    attempt_reported_at: float = float("-inf")
    host_announced: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    host_returned: Floats = field(default_factory=lambda: np.zeros(0))
    host_rarer: Floats = field(default_factory=lambda: np.zeros(0))
    collective_timeout_seconds: float = 600.0
    newest_world_size: int = 0
    steps_interval: float = 0.0
    placed: JobTopology | None = None
    held_baselines: JobBaselines | None = None
    processes: ProcessReadings = field(default_factory=no_processes)
    hw_models: Mapping[str, str] = field(default_factory=dict)
    searches: EventSearches = field(default_factory=EventSearches)
    claimed_ranks: frozenset[int] = frozenset()

    @cached_property
    def features(self) -> StepFeatures:
        """Return what detectors compute of the steps, shared by all of them."""
        return StepFeatures(
            self.steps,
            ranks=self.ranks,
            role_of=self.role_of,
            now=self.now,
            beside=self.held_baselines,
        )

    @cached_property
    def baselines(self) -> JobBaselines:
        """Return what is usual for this attempt; learnt of this window where nothing is held."""
        if self.held_baselines is not None:
            return self.held_baselines
        made = JobBaselines()
        made.record(self.features)
        made.learn(self.features)
        return made

    @cached_property
    def topology(self) -> JobTopology:
        """Return what runs where; made of the arrays where the collector gave none."""
        if self.placed is not None:
            return self.placed
        return JobTopology(
            self.job,
            attempt=self.attempt,
            cluster=self.cluster,
            world_size=self.world_size,
            hosts=self.hosts,
            placements=[
                RankPlacement(
                    int(rank),
                    self.host_name(row) or "",
                    pid=int(self.pids[row]) if self.pids[row] >= 0 else None,
                    hw_id=self.hw_ids[row],
                )
                for row, rank in enumerate(self.ranks)
            ],
        )

    @cached_property
    def _events_by_name(self) -> Mapping[str, Sequence[Event]]:
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.name, []).append(event)
        return found

    def named(self, name: str) -> Sequence[Event]:
        """Return the events of a name, in their order."""
        return self._events_by_name.get(name, ())

    @property
    def entity(self) -> Entity:
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

    def of_ranks(self, metric: str) -> PeriodicReadings:
        """Return a periodic metric with one row a rank."""
        if metric not in self.rank_readings:
            return _nothing(len(self.ranks))
        return self.rank_readings[metric]

    def of_hosts(self, metric: str) -> PeriodicReadings:
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
def _nothing(rows: int) -> PeriodicReadings:
    """Return readings of a metric that nobody reports: the same for every detector that asks."""
    empty = np.full((rows, 0), np.nan)
    empty.flags.writeable = False
    return PeriodicReadings(empty, empty)


__all__ = [
    "Flags",
    "Floats",
    "GroupProgress",
    "Ints",
    "JobWindow",
    "PeriodicReadings",
    "ProcessReadings",
    "StepValues",
    "no_processes",
]
