"""The tables of suites.toml as values: suites, shapes, habits, missing sources, benign variety."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

SUITES = ("tuning", "published", "holdout", "fresh", "pairs", "quiet")
"""The suites that `rankscope lab score` offers."""


class SuiteError(ValueError):
    """A suite or a fault that does not exist, or cannot be drawn; the text names it and the fix."""


@dataclass(frozen=True, slots=True)
class CaseSuite:
    """One suite.

    `per_kind` cases of every fault kind, `at_least` cases in all; every `weak_every`th case of a
    kind is weak. `healthy`, `missing` and `benign` are shares of cases in [0, 1].
    """

    name: str
    text: str
    seed: int
    per_kind: int
    at_least: int
    weak_every: int
    healthy: float
    missing: float
    benign: float


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """A cluster and its job, as tables of settings; `seconds` is the length of a recording."""

    name: str
    seconds: float
    cluster: Mapping[str, Any]
    job: Mapping[str, Any]
    suites: tuple[str, ...] = ()

    @property
    def gpus(self) -> bool:
        return bool(self.cluster.get("gpus", True))

    @property
    def hosts(self) -> int:
        return int(self.cluster.get("hosts", 2))


@dataclass(frozen=True, slots=True)
class ReportingHabit:
    """How telemetry leaves the hosts: settings of the simulator's Reporting."""

    name: str
    reporting: Mapping[str, Any]
    suites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MissingSource:
    """A source that a cluster does not have: metrics and events that never leave."""

    name: str
    hidden: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BenignEvent:
    """Something that healthy jobs do; times are shares of the recording in (0, 1)."""

    name: str
    job: Mapping[str, Any] = field(default_factory=dict)
    restart: float | None = None
    ends: float | None = None
    late: tuple[float, float] | None = None
    agent_restart: tuple[float, float] | None = None
    healthy_only: bool = False


@dataclass(frozen=True, slots=True)
class SuiteTables:
    """Everything of suites.toml."""

    untuned_faults: frozenset[str]
    suites: Mapping[str, CaseSuite]
    shapes: tuple[ClusterShape, ...]
    habits: tuple[ReportingHabit, ...]
    missing: tuple[MissingSource, ...]
    benign: tuple[BenignEvent, ...]
    pairs: tuple[tuple[str, str], ...]
    """Kinds of the simulator that the cases of `pairs` have at once."""

    def shapes_of(self, name: str) -> tuple[ClusterShape, ...]:
        return tuple(row for row in self.shapes if name in row.suites)

    def habits_of(self, name: str) -> tuple[ReportingHabit, ...]:
        return tuple(row for row in self.habits if name in row.suites)


@cache
def tables() -> SuiteTables:
    """Return the tables; an unknown key raises TypeError, which names it."""
    text = resources.files(__package__ or "").joinpath("suites.toml").read_text(encoding="utf-8")
    read = tomllib.loads(text)
    return SuiteTables(
        untuned_faults=frozenset(read["untuned_faults"]),
        suites={row["name"]: CaseSuite(**row) for row in read["suite"]},
        shapes=tuple(ClusterShape(**_frozen(row)) for row in read["shape"]),
        habits=tuple(ReportingHabit(**_frozen(row)) for row in read["habit"]),
        missing=tuple(MissingSource(**_frozen(row)) for row in read["missing"]),
        benign=tuple(BenignEvent(**_frozen(row)) for row in read["benign"]),
        pairs=tuple((row["first"], row["second"]) for row in read["pair"]),
    )


def suite(name: str) -> CaseSuite:
    """Return a suite; raises SuiteError with the nearest name where there is none."""
    found = tables().suites.get(name)
    if found is None:
        near = difflib.get_close_matches(name, SUITES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(SUITES)}"
        raise SuiteError(f"there is no suite {name!r}; {hint}")
    return found


def _frozen(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
