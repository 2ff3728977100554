"""What would be gained: jobs without their slowest ranks or hosts, and hosts that are repaired."""

from dataclasses import dataclass
from typing import Literal

from ..counterfactuals import CounterfactualBasis, GpuHours, StepTimeWithout
from ..shapes import DocumentShape


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowPlaceDocument(DocumentShape):
    """A rank, or a host, among the slowest of a job, and the job with that one alone replaced.

    `behind_seconds`: by how much its work is longer than that of its peers, mean over steps. The
    rest is null where nobody is comparable to it.
    """

    rank: int | None
    host: str | None
    behind_seconds: float
    without: StepTimeWithout | None
    an_hour: GpuHours | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalGain(DocumentShape):
    """Steps without so many of the slowest, and what an hour of the job would give back by it."""

    removed: int
    without: StepTimeWithout
    an_hour: GpuHours


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestDocument(DocumentShape):
    """The newest `steps` steps of a job, and without its slowest one, two and five.

    `basis` is null, and there are none, where nobody reports what ranks do in a step.
    """

    by: Literal["rank", "host"]
    basis: CounterfactualBasis | None
    step_seconds: float | None
    steps: int
    slowest: list[SlowPlaceDocument]
    without: list[RemovalGain]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningGain(DocumentShape):
    """What an hour of a running job would give back with a host replaced, by its newest steps."""

    job: str
    an_hour: GpuHours


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGain(DocumentShape):
    """What would be gained by repairing or removing a host.

    `incidents`: those whose first cause is on it. `past`: what these cost in the time asked for, by
    steps as they would have been; null where none was measured, `bases` is what it follows from.
    `now`: running jobs of which it is among the five slowest hosts; `an_hour` is their sum.
    """

    host: str
    incidents: list[str]
    past: GpuHours | None
    bases: list[CounterfactualBasis]
    now: list[RunningGain]
    an_hour: GpuHours | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGainsDocument(DocumentShape):
    """A page of hosts, those with most to gain first; `since` up to `until`: what `past` is of."""

    since: str
    until: str
    items: list[HostGain]
    next_cursor: str | None
