"""Draws the cases of a suite from its seed.

Each case is drawn from a generator of its own, seeded by the suite's seed, the fault kind and a
number: a fault that is added to the simulator adds cases and changes no other.
"""

import dataclasses
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..simulator import days, scenarios
from ..simulator.faults import FAULTS, inject
from ..simulator.shape import ScenarioError, SimulationScenario, Strength
from .cases import SuiteCase
from .fresh import drawn_habits, drawn_shapes
from .observable import shown_in, signs_of
from .pairs import with_second
from .tables import (
    BenignEvent,
    CaseSuite,
    ClusterShape,
    MissingSource,
    ReportingHabit,
    SuiteTables,
    tables,
)

Random = np.random.Generator
HEALTHY = "healthy"
_STEPS_AFTER = 8
"""Steps of a recording after the onset, at least."""


def draw(suite: CaseSuite, *, seed: int | None = None, hours: float = 24.0) -> list[SuiteCase]:
    """Return the cases of a suite: the faulty ones by fault id, then the healthy ones.

    `seed` is for `fresh` (and moves the seeds of `quiet`); `hours` is how much `quiet` simulates.
    """
    if suite.name == "quiet":
        return _quiet(seed or suite.seed, hours)
    read = tables()
    if suite.name in ("fresh", "pairs"):
        suite = dataclasses.replace(suite, seed=suite.seed if seed is None else seed)
        shapes, habits = drawn_shapes(suite.seed), drawn_habits(suite.seed)
    else:
        shapes, habits = read.shapes_of(suite.name), read.habits_of(suite.name)
    drawing = _SuiteDrawing(suite, read, shapes, habits)
    if suite.name == "pairs":
        return [
            case
            for first, second in read.pairs
            for number in range(suite.per_kind)
            if (case := drawing.pair(first, second, number)) is not None
        ]
    kinds = _kinds(suite, read)
    faulty = max(suite.per_kind * len(kinds), math.ceil(suite.at_least * (1 - suite.healthy)))
    each = math.ceil(faulty / max(len(kinds), 1))
    cases = [
        case
        for kind in kinds
        for number in range(each)
        if (case := drawing.faulty(kind, number)) is not None
    ]
    healthy = math.ceil(len(cases) * suite.healthy / (1 - suite.healthy))
    return cases + [drawing.healthy(number) for number in range(healthy)]


def fault_id(kind: str) -> str:
    return FAULTS[kind].id


def _kinds(suite: CaseSuite, read: SuiteTables) -> list[str]:
    """Return the kinds of a suite, by fault id and name."""
    left_out = read.untuned_faults if suite.name == "tuning" else frozenset[str]()
    kinds = [kind for kind in FAULTS if fault_id(kind) not in left_out]
    return sorted(kinds, key=lambda kind: (fault_id(kind), kind))


@dataclasses.dataclass(frozen=True, slots=True)
class _SuiteDrawing:
    """What the cases of one suite are drawn from."""

    suite: CaseSuite
    read: SuiteTables
    shapes: Sequence[ClusterShape]
    habits: Sequence[ReportingHabit]

    def faulty(self, kind: str, number: int) -> SuiteCase | None:
        """Return a case with a fault, None where no shape of the suite can have it."""
        fault = fault_id(kind)
        random = self._random(kind, number)
        needs = signs_of(fault)
        shapes = [
            shape
            for shape in self.shapes
            if shape.hosts >= needs.hosts and (shape.gpus or not needs.gpus)
        ]
        # One number after the other takes another shape, so that few cases cover all of them.
        first = int(self._random(kind, -1).integers(max(len(shapes), 1)))
        weak = self.suite.weak_every > 0 and number % self.suite.weak_every == 2
        strength: Strength = "weak" if weak else "plain"
        chosen = self._chosen(random, faulty=True)
        for offset in range(len(shapes)):
            shape = shapes[(first + number + offset) % len(shapes)]
            try:
                scenario = with_fault(kind, shape, chosen, random, strength=strength)
            except ScenarioError:
                continue
            return self._case(f"{kind}-{number}", kind, strength, shape, chosen, scenario, random)
        return None

    def pair(self, kind: str, second: str, number: int) -> SuiteCase | None:
        """Return a case with two faults, None where no shape can have both on hosts of their own.

        Every source is reported: what is asked is whether one fault hides the other.
        """
        name = f"{kind}+{second}"
        random = self._random(name, number)
        needs = [signs_of(fault_id(each)) for each in (kind, second)]
        shapes = [
            shape
            for shape in self.shapes
            if shape.hosts >= max(2, *(need.hosts for need in needs))
            and (shape.gpus or not any(need.gpus for need in needs))
        ]
        chosen = DrawnChoice(self.habits[int(random.integers(len(self.habits)))])
        first = int(random.integers(max(len(shapes), 1)))
        for offset in range(len(shapes)):
            shape = shapes[(first + offset) % len(shapes)]
            try:
                scenario = with_fault(kind, shape, chosen, random, strength="plain")
                scenario = with_second(second, scenario, random)
            except ScenarioError:
                continue
            case = self._case(f"{name}-{number}", kind, "plain", shape, chosen, scenario, random)
            return dataclasses.replace(case, second=fault_id(second))
        return None

    def healthy(self, number: int) -> SuiteCase:
        """Return a case in which nothing is wrong."""
        random = self._random(HEALTHY, number)
        shape = self.shapes[number % len(self.shapes)]
        chosen = self._chosen(random, faulty=False)
        scenario = scenario_of(shape, chosen)
        name = f"{HEALTHY}-{number}"
        return self._case(name, None, "none", shape, chosen, scenario, random)

    def _random(self, kind: str, number: int) -> Random:
        return np.random.default_rng([self.suite.seed, zlib.crc32(kind.encode()), number + 1])

    def _chosen(self, random: Random, *, faulty: bool) -> "DrawnChoice":
        missing = benign = None
        hide, vary = random.random(2)
        sources, variety = random.integers(1 << 30, size=2).tolist()
        if hide < self.suite.missing:
            missing = self.read.missing[sources % len(self.read.missing)]
        rows = [row for row in self.read.benign if not (faulty and row.healthy_only)]
        # Every healthy case but one in six does something that healthy jobs do.
        if vary < (self.suite.benign if faulty else 5 / 6):
            benign = rows[variety % len(rows)]
        habit = self.habits[int(random.integers(len(self.habits)))]
        return DrawnChoice(habit, missing, benign)

    def _case(
        self,
        name: str,
        kind: str | None,
        strength: str,
        shape: ClusterShape,
        chosen: "DrawnChoice",
        scenario: SimulationScenario,
        random: Random,
    ) -> SuiteCase:
        fault = fault_id(kind) if kind else None
        return SuiteCase(
            suite=self.suite.name,
            name=name,
            kind=kind,
            fault=fault,
            strength=strength,
            shape=shape.name,
            habit=chosen.habit.name,
            missing=chosen.missing.name if chosen.missing else "none",
            benign=chosen.benign.name if chosen.benign else "none",
            seed=int(random.integers(1 << 31)),
            observable=fault is None or shown_in(fault, scenario),
            scenario=dataclasses.replace(scenario, name=name),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class DrawnChoice:
    """What is drawn beside shape and fault."""

    habit: ReportingHabit
    missing: MissingSource | None = None
    benign: BenignEvent | None = None


def scenario_of(
    shape: ClusterShape, chosen: DrawnChoice, *, seconds: float | None = None
) -> SimulationScenario:
    """Return the healthy scenario of a shape that reports by this habit.

    Raises ScenarioError where a table names a setting that the simulator does not have.
    """
    seconds = seconds or shape.seconds
    job, reporting = dict(shape.job), dict(chosen.habit.reporting)
    if chosen.missing is not None:
        reporting["hidden"] = [*reporting.get("hidden", ()), *chosen.missing.hidden]
    if chosen.benign is not None:
        job |= _benign_job(chosen.benign, float(job.get("step_seconds", 1.0)), seconds)
        reporting |= _benign_reporting(chosen.benign, seconds)
    return scenarios.read(
        {
            "name": shape.name,
            "text": f"{shape.name}, {chosen.habit.name}",
            "seconds": seconds,
            "cluster": dict(shape.cluster),
            "job": [job],
            "reporting": reporting,
        }
    )


def with_fault(
    kind: str, shape: ClusterShape, chosen: DrawnChoice, random: Random, *, strength: Strength
) -> SimulationScenario:
    """Return the scenario of a shape with a fault in it, long enough for the fault to be seen.

    Raises ScenarioError where a job of this shape cannot have it.
    """
    needs = signs_of(fault_id(kind))
    step = float(shape.job.get("step_seconds", 1.0))
    after = max(needs.after, max(needs.steps, _STEPS_AFTER) * step)
    seconds = max(shape.seconds, 2 * after)
    scenario = scenario_of(shape, chosen, seconds=seconds)
    onset = float(random.uniform(0.35 * seconds, max(min(0.6 * seconds, seconds - after), 0.4)))
    return inject(kind, scenario, random, strength=strength, onset=onset)


def _benign_job(benign: BenignEvent, step: float, seconds: float) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for key, value in benign.job.items():
        name = key.removesuffix("_each_seconds")
        if name != key:
            settings[f"{name}_every"] = max(int(value / step), 1)
        else:
            settings[key] = value
    if benign.restart is not None:
        settings["restarts"] = [benign.restart * seconds]
    if benign.ends is not None:
        settings["ends_after"] = benign.ends * seconds
    return settings


def _benign_reporting(benign: BenignEvent, seconds: float) -> dict[str, Any]:
    named: Mapping[str, tuple[float, float] | None] = {
        "late": benign.late,
        "agent_restarts": benign.agent_restart,
    }
    return {
        key: [[0, share[0] * seconds, share[1] * seconds]]
        for key, share in named.items()
        if share is not None
    }


def _quiet(first: int, hours: float) -> list[SuiteCase]:
    cases, left, number = [], hours, first
    while left > 1e-6:
        scenario = days.healthy(number, seconds=3600.0 * min(1.0, left))
        cases.append(
            SuiteCase(
                suite="quiet",
                name=f"healthy-{number}",
                kind=None,
                fault=None,
                strength="none",
                shape=f"{scenario.cluster.hosts}x{scenario.cluster.slots}",
                habit=f"push-{scenario.reporting.push:g}s",
                missing=", ".join(scenario.reporting.hidden) or "none",
                benign="drawn",
                seed=number,
                observable=True,
                scenario=scenario,
            )
        )
        left, number = left - 1.0, number + 1
    return cases


__all__ = ["DrawnChoice", "draw", "fault_id", "scenario_of", "with_fault"]
