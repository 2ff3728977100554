"""The job of a trial: how its ranks are spread over hosts, and how many ranks a fault needs.

The suites draw shapes that fit their faults; a trial has the ranks that somebody asked for, and
says what would do where those cannot have the fault.
"""

from collections.abc import Callable, Mapping

import numpy as np

from .catalogue import FaultError
from .simulator.faults import FAULTS, requirements
from .simulator.shape import ScenarioError, SimulationScenario, Strength
from .suites.drawing import DrawnChoice, fault_id, with_fault
from .suites.observable import signs_of
from .suites.tables import ClusterShape, ReportingHabit

RANKS = 16
SECONDS = 300.0

_DOUBLINGS = 6
"""So many larger jobs are tried; every fault fits into one of 32 ranks."""

_SPLITS: Mapping[Callable[..., SimulationScenario], str] = {
    requirements.with_stages: "needs ranks that split evenly into pipeline stages",
    requirements.with_experts: "needs ranks that split evenly into groups of experts",
}
"""What the simulator says of these needs is about its own numbers, not about --ranks."""


def layout(ranks: int) -> tuple[int, int]:
    """Return how many hosts with how many ranks each: at most 8 on one, two hosts where it can."""
    slots = max(n for n in (1, 2, 4, 8) if ranks % n == 0 and (ranks // n > 1 or ranks == 1))
    return ranks // slots, slots


def scenario(
    name: str, kind: str, ranks: int | None, *, seed: int, strength: Strength
) -> SimulationScenario:
    """Return a job with a fault of this kind; `name` is what the user called the fault.

    Without `ranks` it has 16, or as many as the fault needs. Raises FaultError where there are too
    few ranks, or they are spread so that the fault cannot occur.
    """
    wanted = RANKS if ranks is None else ranks
    if wanted < 1:
        raise FaultError("--ranks: at least 1")
    try:
        return _job(kind, wanted, seed=seed, strength=strength)
    except ScenarioError as error:
        larger = _larger(kind, wanted, seed=seed, strength=strength)
        if ranks is None and larger is not None:
            return larger
        hosts, slots = layout(wanted)
        hint = "" if larger is None else f": use --ranks {_ranks(larger)}"
        shape = f"{_count(hosts, 'host')} of {_count(slots, 'rank')}"
        raise FaultError(
            f"--ranks {wanted} is {shape}; {name} {_needed(kind, error)}{hint}"
        ) from error


def _job(kind: str, ranks: int, *, seed: int, strength: Strength) -> SimulationScenario:
    hosts, slots = layout(ranks)
    shape = ClusterShape(
        name=f"{kind}-{ranks}",
        seconds=SECONDS,
        cluster={"hosts": hosts, "slots": slots, "cores": 16 * slots},
        job={"step_seconds": 1.0},
    )
    # The simulator would do it, but nothing could be found: of a single host that is lost, for
    # one, nobody is left to report.
    least = signs_of(fault_id(kind)).hosts
    if hosts < least:
        raise ScenarioError(f"scenario {shape.name}: the fault needs {least} hosts")
    random = np.random.default_rng([seed, 83])
    chosen = DrawnChoice(ReportingHabit(f"{_count(ranks, 'rank')} on {_count(hosts, 'host')}", {}))
    return with_fault(kind, shape, chosen, random, strength=strength)


def _larger(kind: str, ranks: int, *, seed: int, strength: Strength) -> SimulationScenario | None:
    """Return the smallest job of a power of two of ranks, more than these, that can have it."""
    for doubling in range(_DOUBLINGS):
        try:
            return _job(kind, 1 << ranks.bit_length() + doubling, seed=seed, strength=strength)
        except ScenarioError:
            continue
    return None


def _ranks(made: SimulationScenario) -> int:
    return made.cluster.hosts * made.cluster.slots


def _needed(kind: str, error: ScenarioError) -> str:
    """Return what a fault needs of a job, without the simulator's name for the job."""
    for need, text in _SPLITS.items():
        if need in getattr(FAULTS[kind], "needs", ()):
            return text
    return str(error).rpartition("the fault ")[2]


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
