"""What is drawn of a case before anything is simulated: its fault, size, habits, reporter, pace."""

from dataclasses import dataclass

import numpy as np

from . import tables
from .tables import DeviceRow, FaultRow, HabitRow, ReporterRow

QUIET, FAULTS = 30, 60
SIZES = (8, 16, 32, 64, 128)
_USUAL_MINUTES = 10.0
_LONG_WORLD = 16
"""Ranks at most of cases that last longer: they cost as much as they are worth."""


@dataclass(frozen=True, slots=True)
class CasePlan:
    """One case; `minutes` of it, `habits` with their drawn amounts."""

    id: str
    seed: int
    number: int
    fault: FaultRow | None
    strength: str
    world: int
    per_host: int
    minutes: float
    habits: dict[str, float]
    reporter: ReporterRow
    device: DeviceRow

    def rng(self, use: str) -> np.random.Generator:
        """Return the random numbers of one use, whatever the other uses draw."""
        return np.random.default_rng([self.seed, self.number, *use.encode()])


def planned(seed: int) -> list[CasePlan]:
    """Return the cases of a seed: the quiet ones first."""
    held_back = seed >= tables.HELD_BACK_FROM
    rng = np.random.default_rng([seed, 7])
    rows = [row for row in tables.faults() if held_back or not row.held_back]
    first = [row for row in rows if row.held_back]
    others = [row for row in rows if not row.held_back]
    order = [*first, *(others[index] for index in rng.permutation(len(others)))]
    while len(order) < FAULTS:
        order.append(others[int(rng.integers(len(others)))])
    chosen: list[FaultRow | None] = [*([None] * QUIET), *order[:FAULTS]]
    return [_plan(seed, number, row, held_back=held_back) for number, row in enumerate(chosen)]


def smallest(cases: list[CasePlan], count: int | None) -> list[CasePlan]:
    """Return the `count` cases of least ranks times minutes, quiet and others each; None: all."""
    order = sorted(cases, key=lambda one: one.world * one.minutes)
    chosen = [
        one.id
        for quiet in (True, False)
        for one in [case for case in order if (case.fault is None) == quiet][:count]
    ]
    return [one for one in cases if one.id in chosen]


def _plan(seed: int, number: int, fault: FaultRow | None, *, held_back: bool) -> CasePlan:
    rng = np.random.default_rng([seed, number])
    world = int(rng.choice(SIZES, p=(0.37, 0.28, 0.2, 0.1, 0.05)))
    rows = [row for row in tables.habits().values() if held_back or not row.held_back]
    rows = [row for row in rows if rng.random() < row.share]
    minutes = 20.0 if rng.random() < 0.25 and world <= _LONG_WORLD else _USUAL_MINUTES
    if fault is not None:
        world, minutes = max(world, fault.ranks), fault.minutes
        if minutes > _USUAL_MINUTES:
            world = min(world, _LONG_WORLD)
        rows = [row for row in rows if not row.obscures and row.id not in fault.without]
        rows = [row for row in rows if row.id != "joined_midway" or not fault.from_start]
    label = fault.id if fault else "quiet"
    return CasePlan(
        id=f"{number:02d}-{label}",
        seed=seed,
        number=number,
        fault=fault,
        strength="weak" if fault and rng.random() < 0.4 else "plain",
        world=world,
        per_host=int(rng.choice([4, 8, 8])) if world > 8 else int(rng.choice([2, 4, 8])),
        minutes=minutes,
        habits={row.id: _amount(rng, row) for row in rows},
        reporter=_reporter(rng, fault, held_back=held_back),
        device=tables.devices()[int(rng.choice([0, 0, 1, 2]))],
    )


def _amount(rng: np.random.Generator, row: HabitRow) -> float:
    if row.low <= 0.0:
        return 1.0
    return float(np.exp(rng.uniform(np.log(row.low), np.log(row.high))))


def _reporter(rng: np.random.Generator, fault: FaultRow | None, *, held_back: bool) -> ReporterRow:
    rows = [
        row
        for row in tables.reporters()
        if (held_back or not row.held_back) and (fault is None or row.name in fault.reporters)
    ]
    shares = np.array([row.share for row in rows])
    return rows[int(rng.choice(len(rows), p=shares / shares.sum()))]
