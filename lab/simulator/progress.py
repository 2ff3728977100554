"""What is kept of one attempt: its finished steps, what they used, and the one that did not end."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .conditions import ProcessDeath
from .curves import StepLosses
from .placement import RankSeats
from .shape import SimulatedJob

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AllocatorState:
    """What the allocators of all ranks show at the end of a step; arrays over ranks, bytes."""

    allocated: Array
    reserved: Array
    retries: Array


@dataclass(slots=True)
class StepRows:
    """Rows of finished steps; every array is [step, rank] except `index`, `sync` ([step]).

    done: when the collectives of the step ended for a rank; sync: for the last one. stop, pause:
    where in its own work a rank stood still, and for how long (s; 0: it did not).
    """

    index: list[int] = field(default_factory=list)
    sync: list[float] = field(default_factory=list)
    done: list[Array] = field(default_factory=list)
    start: list[Array] = field(default_factory=list)
    end: list[Array] = field(default_factory=list)
    data: list[Array] = field(default_factory=list)
    compute: list[Array] = field(default_factory=list)
    comm: list[Array] = field(default_factory=list)
    optimizer: list[Array] = field(default_factory=list)
    checkpoint: list[Array] = field(default_factory=list)
    gc: list[Array] = field(default_factory=list)
    stop: list[Array] = field(default_factory=list)
    pause: list[Array] = field(default_factory=list)
    held: list[AllocatorState] = field(default_factory=list)
    values: list[StepLosses] = field(default_factory=list)


@dataclass(slots=True)
class UsageSegments:
    """What each rank's process and device used up to each edge; all [edge, rank], cumulative.

    cpu: CPU seconds used; wait: seconds runnable but not running; kernel: seconds in which a
    kernel ran on the device (collectives included: they spin there); math: seconds of arithmetic.
    """

    edge: list[Array] = field(default_factory=list)
    cpu: list[Array] = field(default_factory=list)
    wait: list[Array] = field(default_factory=list)
    kernel: list[Array] = field(default_factory=list)
    math: list[Array] = field(default_factory=list)
    throttled: list[Array] = field(default_factory=list)

    def add(self, edge: Array, **used: Array) -> None:
        """Append a segment that ends at `edge`; what is not named was not used."""
        zero = np.zeros_like(edge)
        self.edge.append(edge.copy())
        for name in ("cpu", "wait", "kernel", "math", "throttled"):
            rows: list[Array] = getattr(self, name)
            rows.append((rows[-1] if rows else zero) + used.get(name, zero))


@dataclass(slots=True)
class UnfinishedStep:
    """The step in which the job stood when it stopped: where each rank was in its own work.

    Where that does not say it, `launched` counts each member's operations of the step by group,
    `completed` the group's. stalled: whose device does not finish while its process launches
    on. why: "" (a stopped or dead process), "mismatch", "leaves", "deadlock".
    """

    start: Array
    own: Array
    limit: Array
    why: str = ""
    launched: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    completed: dict[str, int] = field(default_factory=dict)
    stalled: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    culprits: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(slots=True)
class SimulatedAttempt:
    """One attempt of a job from the start of its processes to their end (inf: still running).

    phases: (at, phase, step) of all ranks, at one time or at [rank]; own_phases: (at, rank, phase,
    step) of one.
    """

    job: SimulatedJob
    number: int
    seats: RankSeats
    born: float
    steps: StepRows
    segments: UsageSegments
    phases: list[tuple[float | Array, str, int]]
    died: Array
    deaths: dict[int, ProcessDeath]
    unfinished: UnfinishedStep | None = None
    next_step: int = 0
    crashed: bool = False
    own_phases: list[tuple[float, int, str, int]] = field(default_factory=list)
