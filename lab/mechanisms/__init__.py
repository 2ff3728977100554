"""Real faults: how each is made to happen in a real job, one idea a file, one line each here.

Only the standard library at import: trainers and the command line read this list.

In: the process of a trainer. Out: the fault in it. Imports: none.
"""

from . import (
    checkpoints,
    collectives,
    contention,
    copy_on_read,
    evaluations,
    exits,
    leaks,
    links,
    nonfinite,
    rank0,
    shared_memory,
    slow_loader,
    stuck,
)
from .contract import FaultMechanism, JobChange

__all__ = ["MECHANISMS", "FaultMechanism", "JobChange", "faults", "healthy", "named", "of_fault"]

MECHANISMS: tuple[FaultMechanism, ...] = (
    contention.NEIGHBOURS,
    contention.QUOTA,
    stuck.THREAD,
    stuck.STOPPED,
    stuck.HOLDS_LOCK,
    stuck.LOADER,
    nonfinite.ACTIVATION,
    nonfinite.SAMPLE,
    exits.EXCEPTION,
    exits.EXIT,
    exits.SEGFAULT,
    exits.KILLED,
    exits.SHORT_SHARD,
    slow_loader.SLOW,
    rank0.PREPROCESSING,
    rank0.GATHER,
    leaks.TRAINER,
    leaks.WORKER,
    copy_on_read.WORKER,
    shared_memory.FILLED,
    checkpoints.SLOW_STORAGE,
    collectives.OTHER,
    collectives.SKIPPED,
    collectives.SKIPPED_THEN_WAITS,
    collectives.SIZE,
    links.SLOW,
    evaluations.UNANNOUNCED,
)
"""Every mechanism; the first of a fault is the one that is used unless another is named."""


def faults() -> tuple[str, ...]:
    """Return the ids of the faults that a real job can have."""
    return tuple(dict.fromkeys(one.fault for one in MECHANISMS if one.fault))


def healthy() -> tuple[str, ...]:
    """Return the names of the mechanisms that are no fault."""
    return tuple(one.name for one in MECHANISMS if not one.fault)


def named(name: str) -> FaultMechanism:
    """Return a mechanism by its name. Raises KeyError."""
    return {one.name: one for one in MECHANISMS}[name]


def of_fault(fault: str) -> tuple[FaultMechanism, ...]:
    """Return the mechanisms of a fault; none where a real job cannot have it."""
    return tuple(one for one in MECHANISMS if one.fault == fault)
