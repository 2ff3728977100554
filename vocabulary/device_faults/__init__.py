"""Fault knowledge: what devices' codes mean, as versioned data with its source.

NVIDIA's own catalogue is followed where tools disagree; what the others say stands beside it.

In: tables of codes by vendor. Out: what a code means, how bad it is, what to do. Imports: tables.
"""

from .catalogue import DeviceFaultCatalogue, catalogue
from .knowledge import CLASSES, FaultClass, FaultKnowledge, FaultRecovery, OutsideOpinion
from .overrides import OverrideError, overridden
from .thresholds import (
    ClockReason,
    CounterThreshold,
    RecoveryAction,
    clock_reasons,
    infiniband,
    recovery_actions,
)

__all__ = [
    "CLASSES",
    "ClockReason",
    "CounterThreshold",
    "DeviceFaultCatalogue",
    "FaultClass",
    "FaultKnowledge",
    "FaultRecovery",
    "OutsideOpinion",
    "OverrideError",
    "RecoveryAction",
    "catalogue",
    "clock_reasons",
    "find",
    "infiniband",
    "overridden",
    "recovery_actions",
    "version",
]


def find(vendor: str, code: str) -> FaultKnowledge:
    """Return what the shipped tables know of a code, or the default of its family."""
    return catalogue().find(vendor, code)


def version() -> str:
    """Return the versions of the shipped tables, as one text."""
    return catalogue().version
