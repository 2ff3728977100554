"""Whether the telemetry of a case can show its fault at all, by the rules of observable.toml.

A fault whose every sign is hidden cannot be found by anybody: it is marked by its case and counted
apart, so that recall is about what can be seen. The rules name signs that are enough to find the
fault, not to name its cause.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated

from ...vocabulary import faults, row_values, tables
from ..simulator.series import exporters
from ..simulator.shape import ReportingHabits, SimulatedCluster, SimulationScenario

DEVICE_METRICS = ("hw.gpu.", "hw.temperature", "hw.power", "hw.energy", "hw.frequency")
"""Beginnings of the names that only a cluster with accelerators reports."""


def _terms(alternatives: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(names.split(" + ")) for names in alternatives)


FaultName = Annotated[str, row_values.KnownValues("fault", faults.catalogue)]
Alternatives = Annotated[tuple[tuple[str, ...], ...], row_values.WrittenAs(tuple[str, ...], _terms)]


@dataclass(frozen=True, slots=True)
class FaultSigns:
    """What shows a fault: alternatives, each a set of names; `after` in seconds, `steps` in steps.

    `gpus` and `hosts` are what a cluster needs to have the fault. `rise` is the least that it must
    add up to in a recording, as a share.
    """

    fault: FaultName = field(metadata={"key": "id"})
    alternatives: Alternatives = field(metadata={"key": "any"})
    after: float
    steps: int = 0
    gpus: bool = False
    hosts: int = 1
    rise: float = 0.0


@cache
def signs() -> Mapping[str, FaultSigns]:
    """Return the signs of every fault, by fault id."""
    rows = tables.packaged(FaultSigns, __package__ or "", "observable.toml", "fault")
    return {row.fault: row for row in rows}


def signs_of(fault: str) -> FaultSigns:
    """Return the signs of a fault; without a rule it is taken to be visible."""
    return signs().get(fault, FaultSigns(fault, alternatives=((),), after=180.0))


LINES = ("gpu.fault", "log.fault")
"""Events that are read from logs: a fault that nobody logs shows none."""


def observable(
    fault: str, reporting: ReportingHabits, cluster: SimulatedCluster, *, logged: bool = True
) -> bool:
    """Return whether at least one alternative of the fault's signs is reported in full.

    logged: whether anybody logs it.
    """
    return any(
        all((logged or name not in LINES) and _reported(name, reporting, cluster) for name in names)
        for names in signs_of(fault).alternatives
    )


def shown_in(fault: str, scenario: SimulationScenario) -> bool:
    """Return whether the telemetry of a scenario can show the fault that it has."""
    settings = scenario.fault or {}
    if "rate" in settings:
        left = scenario.seconds - float(settings["onset"])
        if not rises(fault, float(settings["rate"]), left / scenario.jobs[0].step_seconds):
            return False
    logged = bool(settings.get("logged", True))
    return observable(fault, scenario.reporting, scenario.cluster, logged=logged)


def rises(fault: str, rate: float, steps: float) -> bool:
    """Return whether a fault that adds `rate` at each of so many steps adds up to what is seen."""
    return rate * steps >= signs_of(fault).rise


def _reported(name: str, reporting: ReportingHabits, cluster: SimulatedCluster) -> bool:
    if not cluster.gpus and name.startswith(DEVICE_METRICS):
        return False
    if not exporters.has(name, exporters.reader(cluster, reporting)):
        return False
    if not name.endswith("*"):
        return reporting.shows(name)
    # A family is reported unless a pattern hides the whole of it.
    return not any(
        pattern.endswith("*") and name[:-1].startswith(pattern[:-1]) for pattern in reporting.hidden
    )
