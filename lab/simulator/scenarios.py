"""The scenarios by name, read from scenarios.toml."""

import dataclasses
import difflib
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from .shape import (
    ReportingHabits,
    ScenarioError,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)

T = TypeVar("T", SimulatedCluster, SimulatedJob, ReportingHabits)


@cache
def catalogue() -> Mapping[str, SimulationScenario]:
    """Return every scenario by name, in the order of the file."""
    text = resources.files(__package__ or "").joinpath("scenarios.toml").read_text(encoding="utf-8")
    found = [read(row) for row in tomllib.loads(text)["scenario"]]
    return {scenario.name: scenario for scenario in found}


def named(name: str) -> SimulationScenario:
    """Return a scenario; raises ScenarioError with the nearest name when there is none."""
    scenario = catalogue().get(name)
    if scenario is None:
        near = difflib.get_close_matches(name, catalogue(), n=1)
        hint = f"did you mean {near[0]}?" if near else "rankscope lab list shows them"
        raise ScenarioError(f"there is no scenario {name!r}; {hint}")
    return scenario


def read(row: Mapping[str, Any]) -> SimulationScenario:
    """Return the scenario of a table as scenarios.toml writes it."""
    name = str(row.get("name", ""))
    known = {"name", "text", "seconds", "cluster", "job", "reporting", "fault"}
    if unknown := sorted(set(row) - known):
        raise ScenarioError(f"scenario {name}: unknown {', '.join(unknown)}")
    return SimulationScenario(
        name=name,
        text=str(row["text"]),
        seconds=float(row["seconds"]),
        cluster=_part(SimulatedCluster, row.get("cluster", {}), f"scenario {name}, cluster"),
        jobs=tuple(
            _part(SimulatedJob, job, f"scenario {name}, job") for job in row.get("job", ({},))
        ),
        reporting=_part(ReportingHabits, row.get("reporting", {}), f"scenario {name}, reporting"),
        fault=row.get("fault"),
    )


def _part(kind: type[T], row: Mapping[str, Any], where: str) -> T:
    fields = {field.name for field in dataclasses.fields(kind)}
    if unknown := sorted(set(row) - fields):
        raise ScenarioError(f"{where}: unknown {', '.join(unknown)}")
    frozen: dict[str, Any] = {
        key: tuple(tuple(item) if isinstance(item, list) else item for item in value)
        if isinstance(value, list)
        else value
        for key, value in row.items()
    }
    return kind(**frozen)
