"""What is known of one job attempt: its step grid, where its ranks run, its groups, its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...detectors.baselines import JobBaselines
from ...detectors.window import Flags, GroupProgress, Ints
from ...vocabulary.ids import Job
from ...vocabulary.ranks import RankSet
from ...vocabulary.samples import Event
from ...vocabulary.topology import NicPort
from .communicators import CommunicatorRegister
from .descriptions import DeviceDescriptions
from .event_history import EventHistory
from .held_events import HeldEvents
from .host_reports import JobReports
from .kept import KeptFeatures
from .layout import TopologyLayout
from .operations import OperationWindow
from .placements import PlacementColumns
from .plane_sets import PlaneSet
from .readings import JoinedPlanes
from .skew import HostClock
from .steps import StepGrid

MOST_EVENTS = 5_000
BRIEF_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ReportingMembers:
    """The members of a group that report it; all [members].

    rows: in the planes of the group's counters. placed: in the matrices of the attempt. absent:
    the rows there of members that never reported.
    """

    name: str
    kind: str
    rows: Ints
    placed: Ints
    absent: Ints


class GroupMembers:
    """Ranks as members of communication groups: a row each, in planes of the group's counters."""

    reporting: tuple[tuple[int, ...], tuple[ReportingMembers, ...]] | None = None
    """Who reported when it was last looked, and the state of all that says so; in no snapshot."""

    progress: tuple[tuple[int, ...], tuple[GroupProgress, ...]] | None = None
    """How far the groups were when it was last looked, likewise; in no snapshot."""

    def __init__(self) -> None:
        self.planes = PlaneSet()
        self.rows: dict[tuple[str, int], int] = {}
        self.of_group: dict[str, list[tuple[int, int]]] = {}
        """By group: (rank, row)."""
        self._in_order: dict[str, Ints] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what a snapshot keeps."""
        made = ("reporting", "progress")
        return {name: held for name, held in vars(self).items() if name not in made}

    def row(self, group: str, rank: int) -> int:
        """Return the row of a member, a new one if needed."""
        found = self.rows.get((group, rank))
        if found is None:
            found = self.rows[group, rank] = len(self.rows)
            self.of_group.setdefault(group, []).append((rank, found))
        return found

    def in_order(self, group: str) -> Ints:
        """Return [members, 2], rank and row of a group's members, by rank."""
        pairs, held = self.of_group[group], self._in_order.get(group)
        if held is None or len(held) != len(pairs):
            held = self._in_order[group] = np.array(sorted(pairs), np.int64)
        return held

    def ranks(self, group: str) -> RankSet:
        """Return the ranks that report a group's counters."""
        return RankSet(rank for rank, _ in self.of_group.get(group, ()))


@dataclass(slots=True)
class GroupInfo:
    """What `collective.group.info` reports of a group."""

    kind: str
    description: str = ""
    ranks: RankSet = field(default_factory=RankSet)


class NodePlanes:
    """Planes of node telemetry: a row for each host, and each device and process on it."""

    def __init__(self) -> None:
        self.planes = PlaneSet()
        self.rows: dict[tuple[int, int, int], int] = {}
        """By host, pid and device, UNKNOWN where the series names none."""
        self.processes_of: dict[int, list[tuple[int, int, int]]] = {}
        """By host: those of its rows that belong to a process."""
        self.rank_of: dict[int, int] = {}
        """By row of a process: the rank that it works for."""
        self.of_host: dict[int, list[tuple[int, int, int]]] = {}
        self.version_of_host: dict[int, int] = {}
        self._free: list[int] = []

    def row(self, host: int, pid: int, device: int) -> int:
        """Return the row of a host, process or device, a new one if needed."""
        found = self.rows.get((host, pid, device))
        if found is None:
            found = self._free.pop() if self._free else len(self.rows)
            self.rows[host, pid, device] = found
            self.of_host.setdefault(host, []).append((pid, device, found))
            if pid >= 0:
                self.processes_of.setdefault(host, []).append((pid, device, found))
        return found

    def forget(self, host: int) -> None:
        """Empty the rows of a host, for others to use."""
        gone = self.of_host.pop(host, [])
        self.processes_of.pop(host, None)
        for pid, device, row in gone:
            del self.rows[host, pid, device]
            self.rank_of.pop(row, None)
            self._free.append(row)
        if gone:
            self.planes.clear(np.array([row for _, _, row in gone], np.int64))
            self.touch(host)

    def touch(self, host: int) -> None:
        """Note that the planes of a host changed."""
        self.version_of_host[host] = self.version_of_host.get(host, 0) + 1


@dataclass(slots=True)
class JobAttempt:
    """One job attempt. `version` moves whenever the mapping of series to ranks may have changed.

    `derived`: nobody names the attempt; its number counts the starts of the job's processes.
    """

    job: Job
    number: int
    cluster: str | None = None
    number_in_windows: int = 0
    derived: bool = False
    grid: StepGrid = field(default_factory=StepGrid)
    placements: PlacementColumns = field(default_factory=PlacementColumns)
    readings: PlaneSet = field(default_factory=PlaneSet)
    members: GroupMembers = field(default_factory=GroupMembers)
    nodes: NodePlanes = field(default_factory=NodePlanes)
    groups: dict[str, GroupInfo] = field(default_factory=dict)
    nics: dict[str, NicPort] = field(default_factory=dict)
    events: EventHistory = field(default_factory=lambda: EventHistory(MOST_EVENTS))
    changed_before: tuple[tuple[Event, float], ...] = ()
    """What was changed after the last step of the attempt before, with when it was received."""
    operations: OperationWindow = field(default_factory=OperationWindow)
    communicators: CommunicatorRegister = field(default_factory=CommunicatorRegister)
    world_size: int = 0
    newest_world_size: int = 0
    first_at: float = float("inf")
    last_at: float = float("-inf")
    last_received: float = float("-inf")
    started_at: float = float("inf")
    """The earliest start of its processes, inf where nobody reports it."""
    version: int = 0
    new_pids: dict[int, float] = field(default_factory=dict)
    """Rows whose process was replaced, and since when: an attempt may begin with it."""
    features: KeptFeatures = field(default_factory=KeptFeatures)
    baselines: JobBaselines = field(default_factory=JobBaselines)
    layout: TopologyLayout | None = None
    held_events: HeldEvents = field(default_factory=HeldEvents)
    joined: JoinedPlanes | None = None
    adopted: dict[tuple[int, str], int] = field(default_factory=dict)
    """Ranks that devices stand in for, by host and `hw.id`; see `adoption`."""
    adopted_ids: set[str] = field(default_factory=set)
    """The `hw.id` of those devices."""
    informed: bool = False
    """Whether `training.rank.info` was received."""
    clocks: dict[str, HostClock] = field(default_factory=dict)
    """By host: the clock by which its ranks report, while the node itself does not."""
    checked: bool = False
    """Whether any of its ranks is: then what is only claimed fills no place but an empty one."""
    claims: bool = False
    """Whether anything of it is only claimed."""
    superseded: bool = False
    """Whether the same attempt is to begin anew, without what was only claimed."""
    reports: JobReports = field(default_factory=JobReports)
    """When its telemetry came from which host."""
    switches: dict[str, str] = field(default_factory=dict)
    """By host, as the job's telemetry says it."""
    devices: DeviceDescriptions = field(default_factory=DeviceDescriptions)
    """As the job's telemetry describes them."""
    user: str | None = None
    """The user label that its telemetry carries."""
    heard: set[int] = field(default_factory=set[int])
    """Numbers of the hosts that events of the job name without a rank."""

    def rows(self, ranks: Ints) -> Ints:
        """Return the rows of ranks in every matrix, adding those that are new."""
        before = len(self.placements)
        rows = self.placements.rows(ranks)
        if len(self.placements) > before:
            self.grid.add(len(self.placements))
            self.version += 1
        return rows

    def fits(self, ranks: Ints, most: int) -> Flags:
        """Return [ranks] whether each is known, names nobody (below 0), or is among `most`."""
        flags = np.ones(len(ranks), np.bool_)
        if len(self.placements) + len(ranks) <= most:
            return flags
        new = np.flatnonzero((ranks >= 0) & (self.placements.known_rows(ranks) < 0))
        _, first, which = np.unique(ranks[new], return_index=True, return_inverse=True)
        place = np.empty(len(first), np.int64)
        place[np.argsort(first, kind="stable")] = np.arange(len(first))
        flags[new] = place[which] < most - len(self.placements)
        return flags

    def row(self, rank: int) -> int:
        """Return the row of one rank, adding it when it is new."""
        return int(self.rows(np.array([rank], np.int64))[0])

    def changes_after_steps(self) -> tuple[tuple[Event, float], ...]:
        """Return what was changed since its last step, each with when it was received."""
        last = float(self.grid.last_at.max(initial=-np.inf))
        changes = (held for held in self.events if held[0].name == "change")
        return tuple(held for held in changes if held[0].at > last)

    def host_numbers(self) -> Ints:
        """Return the numbers of the hosts its ranks run on.

        Where no rank's is known, those that its events name: the logs of a dead job may be of
        kernels alone.
        """
        numbers = np.unique(self.placements.hosts[: len(self.placements)])
        numbers = numbers[numbers >= 0]
        return numbers if len(numbers) else np.array(sorted(self.heard), np.int64)

    @property
    def is_logs_only(self) -> bool:
        """Tell whether nobody has reported a sample of it: events alone name it."""
        return self.last_at == float("-inf")

    @property
    def is_brief(self) -> bool:
        """Tell whether it was hardly heard of: all its samples, if any, are of one second."""
        return self.last_at - self.first_at < BRIEF_SECONDS

    @property
    def start(self) -> float:
        """Return when its processes started, or its first data; -inf where neither is known."""
        at = min(self.started_at, self.first_at)
        return at if at < np.inf else float("-inf")

    @property
    def nbytes(self) -> int:
        """Return how many bytes its matrices take."""
        sets = (self.readings, self.members.planes, self.nodes.planes)
        return self.grid.nbytes + sum(planes.nbytes for planes in sets)
