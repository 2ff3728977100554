"""What each fault does to a job: a function a fault, a file a family.

In: a situation. Out: its effects, readings, events and truth.
"""

from collections.abc import Callable
from types import ModuleType

from ..situation import CaseSituation
from . import balance, efficiency, gpu, host, memory, network, numerics, software

_FAMILIES: dict[str, ModuleType] = {
    "balance": balance,
    "efficiency": efficiency,
    "gpu": gpu,
    "host": host,
    "memory": memory,
    "network": network,
    "numerics": numerics,
    "software": software,
}


def mechanism(fault: str) -> Callable[[CaseSituation], None]:
    """Return the function of a fault; raises AttributeError or KeyError where there is none."""
    family, _, name = fault.partition(".")
    found: Callable[[CaseSituation], None] = getattr(_FAMILIES[family], name)
    return found


def inject(case: CaseSituation) -> None:
    """Add the fault of the case's plan; raises ValueError where it has none."""
    if case.plan.fault is None:
        raise ValueError(f"{case.plan.id}: no fault is planned")
    mechanism(case.plan.fault.id)(case)
