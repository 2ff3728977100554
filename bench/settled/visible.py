"""Whether a check can see a fault of a simulated case at all: by what the fault does, not its name.

The table's rate is of a check whose subject is there. Some faults of that name are not: a link that
lost speed and no lanes, a loader that is late on every rank alike, a rank that gathers for less of
its time than the check's limit, a fault that is over. Pure.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rankscope.checks.measurements import stacks
from rankscope.checks.node_checks import WATCHED
from rankscope.lab.simulator.shape import SimulatedJob, SimulationScenario
from rankscope.vocabulary.checks import ActiveCheck

_ERRORS = 2.0
"""Standard errors that a share has to be beyond a limit by, as the check asks."""

Fault = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WatchedJob:
    """The job that a check looks at, on a host with so many ranks of it."""

    job: SimulatedJob
    ranks: int


def share(check: ActiveCheck, scenario: SimulationScenario) -> float:
    """Return in which share of its runs a check would meet the fault, as far as it can see."""
    fault = scenario.fault or {}
    find = _FIND.get((check.name, str(fault.get("kind"))))
    if find is None:
        return 1.0
    return find(check, fault, WatchedJob(scenario.jobs[0], scenario.cluster.slots))


def _lanes(_check: ActiveCheck, fault: Fault, _at: WatchedJob) -> float:
    return float(fault.get("lanes", 0.25) < 1)


def _logged(_check: ActiveCheck, fault: Fault, _at: WatchedJob) -> float:
    return float(bool(fault.get("logged")))


def _of_step(check: ActiveCheck, fault: Fault, at: WatchedJob) -> float:
    extra = float(fault["seconds"])
    return _beyond(check, extra / (at.job.step_seconds + extra), 1)


def _of_lone_loader(check: ActiveCheck, fault: Fault, at: WatchedJob) -> float:
    alike = fault.get("scope", "rank") != "rank"
    return 0.0 if alike else _of_step(check, fault, at)


def _of_collections(check: ActiveCheck, fault: Fault, at: WatchedJob) -> float:
    paused = float(fault["chance"]) * float(fault["seconds"]) / at.job.step_seconds
    return _beyond(check, paused, at.ranks)


def _beyond(check: ActiveCheck, value: float, ranks: int) -> float:
    """Return 1 where a share of all looks is beyond a check's limit by more than chance."""
    native = check.name == "stack_collecting"
    a_second = stacks.NATIVE_LOOKS_A_SECOND if native else stacks.LOOKS_A_SECOND
    looks = check.seconds * WATCHED * a_second * ranks
    error = _ERRORS * math.sqrt(value * max(1 - value, 0.0) / looks)
    return float(value - error > (check.limit or 0.0))


def _of_checkpoints(check: ActiveCheck, fault: Fault, at: WatchedJob) -> float:
    """Return how often so much of a checkpoint lies within the time that is watched."""
    seconds = at.job.checkpoint_seconds * float(fault["factor"])
    period = at.job.checkpoint_every * at.job.step_seconds + seconds
    watched = check.seconds * WATCHED
    needed = (check.limit or 0.0) * watched
    if seconds <= needed or period <= 0:
        return 0.0
    return min((watched + seconds - 2 * needed) / period, 1.0)


_FIND: Mapping[tuple[str, str], Callable[[ActiveCheck, Fault, WatchedJob], float]] = {
    ("device_lanes", "pcie_degraded"): _lanes,
    ("kernel_firmware", "firmware_hang"): _logged,
    ("kernel_lost", "gpu_lost"): _logged,
    ("stack_saving", "checkpoint_stall"): _of_checkpoints,
    ("stack_gathering", "rank0_gather"): _of_step,
    ("stack_loading", "rank0_preprocessing"): _of_step,
    ("stack_loading", "dataloader_slow"): _of_lone_loader,
    ("stack_fetching", "dataloader_slow"): _of_step,
    ("stack_collecting", "gc_pause"): _of_collections,
}
"""By check and kind of the simulator's fault; of all others the table's rate is taken."""
