"""What is known of one job attempt: its step grid, where its ranks run, its groups, its events."""

from collections import deque
from dataclasses import dataclass, field

from ...vocabulary.ids import Job
from ...vocabulary.samples import Event
from .steps import StepGrid

MOST_EVENTS = 5_000


@dataclass(slots=True)
class Place:
    """Where a rank runs, as `training.rank.info` and the resource of its series tell."""

    host: str = ""
    local_rank: int | None = None
    pid: int | None = None
    hw_id: str | None = None
    framework: str = ""
    coordinates: tuple[int, ...] = ()
    """(pp, tp) where known: ranks with equal ones do the same work."""


@dataclass(slots=True)
class GroupRows:
    """Ring rows of a communication group's counters, by counter and rank."""

    kind: str
    desc: str = ""
    members: tuple[int, ...] = ()
    rows: dict[str, dict[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Attempt:
    """One job attempt. `version` moves whenever the mapping of series to ranks may have changed."""

    job: Job
    number: int
    cluster: str | None = None
    number_in_windows: int = 0
    grid: StepGrid = field(default_factory=StepGrid)
    places: dict[int, Place] = field(default_factory=dict)
    groups: dict[str, GroupRows] = field(default_factory=dict)
    events: deque[tuple[Event, float]] = field(default_factory=lambda: deque(maxlen=MOST_EVENTS))
    series: list[int] = field(default_factory=list)
    world_size: int = 0
    first_at: float = float("inf")
    last_at: float = float("-inf")
    last_received: float = float("-inf")
    version: int = 0
    mapping: tuple[tuple[int, int], object] | None = None
    """The mapping of series to ranks and hosts that views built, and the versions it holds for."""

    def place(self, rank: int) -> Place:
        """Return where a rank runs, adding it when it is new."""
        found = self.places.get(rank)
        if found is None:
            found = self.places[rank] = Place()
            self.grid.row(rank)
            self.version += 1
        return found

    def hosts(self) -> tuple[str, ...]:
        """Return the hosts of its ranks, sorted."""
        return tuple(sorted({place.host for place in self.places.values() if place.host}))
